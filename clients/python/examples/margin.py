"""Text on the left, notes in the margin beside the words they belong to; plain lines where there is no terminal."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from dataclasses import dataclass
from typing import TextIO

DIM, GREEN, RED, STRUCK = "2", "32", "31", "9;2"
MARGIN = 44


@dataclass(frozen=True, slots=True)
class Note:
    """Where a note stands: its first row and its lines."""

    row: int
    lines: tuple[str, ...]


def best_page(out: TextIO = sys.stdout) -> Page:
    """The best page that `out` can show."""
    columns = shutil.get_terminal_size().columns
    terminal = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return Margin(out, columns) if terminal and columns >= 2 * MARGIN else Page(out)


class Page:
    """Notes between the lines."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._column = 0

    def write(self, text: str) -> None:
        self._say(text)
        self._column = 0 if text.endswith("\n") else 1

    def note(self, mark: str, head: str, text: str, colour: str) -> Note:
        self._break()
        self._say(f"    {mark} {text}   ({head})\n")
        return Note(0, (f"{mark} {head}", text))

    def strike(self, note: Note) -> None:
        self._break()
        self._say(f"    ✗ {note.lines[-1]}   (no longer true)\n")

    def end(self) -> None:
        self._break()

    def _break(self) -> None:
        if self._column:
            self._say("\n")
        self._column = 0

    def _say(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class Margin(Page):
    """Moves the cursor relative to where it is, so that it works anywhere on the screen, and while that scrolls."""

    def __init__(self, out: TextIO, columns: int) -> None:
        super().__init__(out)
        self._width = min(columns, 120) - MARGIN - 3
        self._colours = "NO_COLOR" not in os.environ
        self._row = 0
        self._last_row = 0
        self._free_row = 0
        self._word = ""

    def write(self, text: str) -> None:
        for character in text:
            self._put(character)
        self._out.flush()

    def note(self, mark: str, head: str, text: str, colour: str) -> Note:
        lines = (f"{mark} {head}", *_wrapped(text, MARGIN - 2))
        note = Note(max(self._row, self._free_row), lines)
        self._free_row = note.row + len(lines) + 1
        down = note.row + len(lines) - 1 - self._row
        if down > 0:
            self._out.write("\n" * down + f"\x1b[{down}A")
            self._last_row = max(self._last_row, self._row + down)
        self._draw(note, colour, "")
        return note

    def strike(self, note: Note) -> None:
        struck = Note(note.row, ("✗ no longer true".ljust(MARGIN - 2), *note.lines[1:]))
        self._draw(struck, RED, STRUCK)

    def end(self) -> None:
        self._out.write("\n" * (self._last_row - self._row + 1))
        self._out.flush()

    def _draw(self, note: Note, head_colour: str, colour: str) -> None:
        for offset, line in enumerate(note.lines):
            away = note.row + offset - self._row
            if -away >= shutil.get_terminal_size().lines:
                continue  # it has scrolled out
            there, back = (f"\x1b[{away}B", f"\x1b[{away}A") if away > 0 else (f"\x1b[{-away}A", f"\x1b[{-away}B")
            if away == 0:
                there = back = ""
            styled = self._styled(line, head_colour if offset == 0 else colour)
            self._out.write(f"{there}\x1b[{self._width + 2}G{self._styled('│', DIM)} {styled}{back}")
        self._out.write(f"\x1b[{self._column + 1}G")
        self._out.flush()

    def _styled(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if colour and self._colours else text

    def _put(self, character: str) -> None:
        if character == "\n":
            self._new_row()
            self._word = ""
            return
        width = _width(character)
        if self._column + width > self._width and character == " ":
            self._new_row()
            self._word = ""
            return
        if self._column + width > self._width:
            # The word goes to the next row as a whole: taken back here, written again there.
            word = self._word if _width(self._word) < self._width else ""
            back = _width(word)
            self._out.write(f"\x1b[{self._column - back + 1}G" + " " * back if back else "")
            self._new_row()
            self._out.write(word)
            self._column = back
        self._out.write(character)
        self._column += width
        self._word = "" if character == " " or width == 2 else self._word + character

    def _new_row(self) -> None:
        self._out.write("\n")
        self._row += 1
        self._last_row = max(self._last_row, self._row)
        self._column = 0


def _width(text: str) -> int:
    """Columns of a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _wrapped(text: str, width: int) -> list[str]:
    """Broken between words, or anywhere where there are none."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and _width(lines[-1]) + 1 + _width(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
        while _width(lines[-1]) > width:
            fits = next(n for n in range(len(lines[-1]), 0, -1) if _width(lines[-1][:n]) <= width)
            lines[-1:] = [lines[-1][:fits], lines[-1][fits:]]
    return lines
