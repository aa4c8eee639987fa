"""The example's page, as a terminal would show it."""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "clients" / "python" / "examples"))

from margin import MARGIN, RED, Margin, Page, best_page  # type: ignore[import-not-found]

TEXT = 20


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def rows(self) -> list[str]:
        """What is on the screen."""
        rows: list[list[str]] = [[]]
        row = column = 0
        for control, count, letter in re.findall(r"\x1b\[([\d;]*)([A-Zm])|(.|\n)", self.getvalue()):
            if letter == "\n":
                row, column = row + 1, 0
            elif letter:
                width = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
                rows += [[] for _ in range(row + 1 - len(rows))]
                rows[row] += [" "] * (column + width - len(rows[row]))
                rows[row][column : column + width] = [letter, ""][:width]
                column += width
            elif count == "A":
                row -= int(control)
            elif count == "B":
                row += int(control)
            elif count == "G":
                column = int(control) - 1
        return ["".join(cells).rstrip() for cells in rows]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "40")
    return Terminal()


def margin(terminal: Terminal) -> Margin:
    return Margin(terminal, TEXT + MARGIN + 3)


def test_words_wrap_whole_however_they_come_and_others_anywhere(terminal: Terminal) -> None:
    page = margin(terminal)
    for character in "one two three four five sixteen-letter-w and 一二三四五六七八九十一二":
        page.write(character)
    assert terminal.rows == ["one two three four", "five", "sixteen-letter-w and", "一二三四五六七八九十", "一二"]


def test_note_stands_beside_the_words_and_the_next_one_below_it(terminal: Terminal) -> None:
    page = margin(terminal)
    page.write("one\ntwo")
    first = page.note("●", "now", "a " * 30, "32")
    page.write(" more")
    page.note("●", "now", "second", "32")
    page.write("\nthree")
    assert terminal.rows == [
        "one",
        "two more".ljust(TEXT + 1) + "│ ● now",
        "three".ljust(TEXT + 1) + "│ " + "a " * 20 + "a",
        " " * (TEXT + 1) + "│ " + ("a " * 9).rstrip(),
        "",
        " " * (TEXT + 1) + "│ ● now",
        " " * (TEXT + 1) + "│ second",
    ]
    page.strike(first)
    assert terminal.rows[1].endswith("│ ✗ no longer true")
    page.write("!")
    assert terminal.rows[2].startswith("three!")
    page.end()
    terminal.write("after")
    assert terminal.rows[7] == "after"


def test_colours_are_left_out_where_they_are_not_wanted(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    margin(terminal).note("●", "now", "text", RED)
    assert "\x1b[31m" in terminal.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    page = margin(plain)
    page.strike(page.note("●", "now", "text", RED))
    assert not re.search(r"\x1b\[[\d;]*m", plain.getvalue())


def test_where_there_is_no_room_or_no_terminal_notes_are_lines(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(best_page(terminal), Margin)
    monkeypatch.setenv("COLUMNS", "60")
    assert type(best_page(terminal)) is Page
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    assert type(best_page(terminal)) is Page
    out = io.StringIO()
    page = best_page(out)
    page.write("one")
    page.strike(page.note("●", "5 ms", "tea", "32"))
    page.write("two")
    page.end()
    assert out.getvalue() == "one\n    ● tea   (5 ms)\n    ✗ tea   (no longer true)\ntwo\n"
