"""One line that says how far a command is, on a terminal; nothing for a log."""

from __future__ import annotations

import sys
import time

_EVERY_S = 0.1


class ProgressLine:
    """Call it with what is being done, how much is done, and how much it is in all; `clear` it in the end."""

    def __init__(self) -> None:
        self._shown = 0.0
        self._width = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or (now - self._shown < _EVERY_S and done < total):
            return
        self._shown = now
        line = f"{what}  {100 * done // max(total, 1):3} %"
        print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = max(self._width, len(line))

    def clear(self) -> None:
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)
