"""`memsidecar` with a wall clock that a file moves: `python -m tests.e2e.clock_launcher FILE serve ...`.

The file holds the seconds to add, and may be changed while the process runs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from memsidecar.__main__ import main

_real = time.time_ns


def shift(file: Path) -> None:
    def time_ns() -> int:
        return _real() + int(float(file.read_text()) * 1e9)

    time.time_ns = time_ns


if __name__ == "__main__":
    shift(Path(sys.argv[1]))
    raise SystemExit(main(sys.argv[2:]))
