"""The command line's entry point."""

from __future__ import annotations

import os
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    # Read by numpy's BLAS when it is loaded, so before anything imports it. One thread: a search is a few hundred
    # microseconds, and two threads on two busy cores made it twenty times slower (DECISIONS.md, "One BLAS thread").
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from memsidecar.command import main as run

    return run(argv)


if __name__ == "__main__":
    raise SystemExit(main())
