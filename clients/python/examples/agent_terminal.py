"""What agent.py shows, and what it is told: the same in a terminal and in a transcript."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from typing import Any, TextIO, TypeVar

T = TypeVar("T")
PROMPT = "❯ "
NOTE_WIDTH = 100
DIM, PLAIN = "\x1b[2m", "\x1b[0m"
# What a terminal would obey and not show: control characters, and those that turn the direction of writing.
_OBEYED = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SHOWN: dict[int, str | None] = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _OBEYED}
_SHOWN.update({ord("\n"): "\n", ord("\t"): "\t", ord("\r"): None})


def printable(text: str) -> str:
    """What may be shown of a text that anybody wrote: a memory, a model, a server. `\\x1b` stands for an escape."""
    return text.translate(_SHOWN)


class Screen:
    """The model's text as it comes, and notes on lines of their own."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._dims = out.isatty() and "NO_COLOR" not in os.environ
        self._in_line = False

    def write(self, text: str) -> None:
        text = text if self._in_line else text.lstrip(" ")
        if text:
            self._in_line = not text.endswith("\n")
            self._say(printable(text))

    def note(self, text: str) -> None:
        """One line, cut where it would be too long."""
        self.end_line()
        line = " ".join(printable(text).split())
        line = line if len(line) <= NOTE_WIDTH else line[: NOTE_WIDTH - 1] + "…"
        self._say(f"  {DIM}{line}{PLAIN}\n" if self._dims else f"  {line}\n")

    def prompt(self, line: str | None = None) -> None:
        """Asks for a line, or shows one that was not typed."""
        self._say(PROMPT if line is None else f"{PROMPT}{printable(line)}\n")

    def end_line(self) -> None:
        if self._in_line:
            self._say("\n")
        self._in_line = False

    def _say(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class Lines:
    """The user's lines: of a file, or of standard input. `typed`: somebody sits there."""

    def __init__(self, script: str | None, screen: Screen) -> None:
        self._source = script or sys.stdin.fileno()
        self._screen = screen
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._started = False
        self.typed = script is None and sys.stdin.isatty()

    async def next(self, ended: asyncio.Event) -> str | None:
        """The next line, without white space around it; None after the last one, and when `ended` is set."""
        if not self._started:
            self._started = True
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._read, args=[loop], daemon=True).start()
        if self.typed and not ended.is_set():
            self._screen.prompt()
        line = await unless(ended, self._lines.get())
        if self.typed and line is None:
            self._screen.write("\n")
        elif line and not self.typed:
            self._screen.prompt(line)
        return line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        # Unbuffered: a thread that waits in a buffered reader keeps the interpreter from ending.
        with open(self._source, "rb", buffering=0, closefd=isinstance(self._source, str)) as source:
            for line in source:
                loop.call_soon_threadsafe(self._lines.put_nowait, line.decode(errors="replace").strip())
        loop.call_soon_threadsafe(self._lines.put_nowait, None)


async def unless(ended: asyncio.Event, working: Coroutine[Any, Any, T]) -> T | None:
    """The result of `working`; None, and `working` is cancelled, as soon as `ended` is set."""
    work, end = asyncio.ensure_future(working), asyncio.ensure_future(ended.wait())
    await asyncio.wait({work, end}, return_when=asyncio.FIRST_COMPLETED)
    end.cancel()
    if ended.is_set():
        work.cancel()
        return None
    return work.result()
