"""What the agent has before it without having been sent it: its prompt, its session, and the text that it writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memsidecar.domain.generation.written import Written
from memsidecar.domain.text import HAN, normalise
from memsidecar.domain.tokens import LETTER

# Scripts without spaces, in which a word may end anywhere; hangul has them.
_APART = HAN + "\u3041-\u30fa\u30fc-\u30ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# Numbers such as 21:30 and 3.5 are one word. A colon may follow a speaker, and an ellipsis stands where a text was cut.
_WORD = re.compile(rf"\d+(?:[.,:/-]\d+)+|[{_APART}]|(?:(?![{_APART}]){LETTER})+|:|\.\.\.")
_ASCII_WORD = re.compile(r"[0-9]+(?:[.,:/-][0-9]+)+|[a-z0-9]+|:|\.\.\.")
# Signs as XML names them; the letters of a name are no word. A colon that is named may follow a speaker.
_NAMED_COLON = re.compile(r"&(?:amp;)*#(?:58|65306);")
_NAMED_SIGN = re.compile(r"&(?:amp;)*(?:amp|lt|gt|quot|#\d{1,6});")
_BORDER = re.compile(rf"[\s{_APART}]")
_CUT = " ... "
# Of a longer memory its beginning is looked for.
LONGEST = 16_000
# Of what has been written, so many of the last code points are looked through.
LOOKED_THROUGH = 16_384
# Of a memory that was shortened, so much must be there.
_LEAST_SHOWN = 24
_MOST_CUTS = 400
_MOST_PLACES = 8
_LABEL = 40
# Of the messages of a session, so many words in code points; the oldest go first.
MOST_HEARD = 65_536


def words(text: str) -> str:
    """The words of a text with a space around each, so that texts can be found in it: case, width, white space,
    punctuation, and what a rendered context escapes do not count."""
    if "&" in text:
        text = _NAMED_SIGN.sub(" ", _NAMED_COLON.sub(":", text))
    found = _ASCII_WORD.findall(text.lower()) if text.isascii() else _WORD.findall(normalise(text))
    return f" {' '.join(found)} " if found else ""


@dataclass(frozen=True, slots=True)
class _Given:
    words: str
    cuts: tuple[str, ...] = ()


def _given(text: str) -> _Given:
    found = words(text)
    return _Given(found, tuple(found.split(_CUT, _MOST_CUTS)) if _CUT in found else ())


class Said:
    """Texts are made comparable once; what is written when somebody asks, never while it comes in. `names` says whether
    the name of a known entity is in a text."""

    def __init__(self, prompt: str, written: Written, names: Callable[[str], bool]) -> None:
        self._prompt, self._messages = prompt, list[str]()
        self._written, self._names = written, names
        # The words of the prompt and of each message, and what of them stands between ellipses.
        self._asked: list[_Given] = []
        self._heard: list[_Given] = []
        # Of what was written: words, and the places up to which each piece of them goes.
        self._pieces: list[str] = []
        self._ends: list[int] = []
        self._streamed = ""

    def add(self, message: str) -> None:
        """A message of the session."""
        self._messages.append(message[:MOST_HEARD])

    def read(self) -> None:
        """Make comparable what has been given; some milliseconds for the longest prompt."""
        if self._prompt:
            self._asked, self._prompt = [_given(self._prompt)], ""
        # Taken out first: another may be heard while these are read in a thread.
        messages, self._messages = self._messages, []
        if messages:
            self._heard += map(_given, messages)
            size = sum(len(each.words) for each in self._heard)
            while size > MOST_HEARD and len(self._heard) > 1:
                size -= len(self._heard.pop(0).words)

    def reached(self, end: int) -> None:
        """What was written before `end` counts from now on."""
        end = min(end, self._written.length)
        start = max(self._ends[-1] if self._ends else 0, end - LOOKED_THROUGH)
        new = self._written.slice(start, end)
        whole = _settled(new)
        piece = words(new[:whole])
        if piece:
            self._pieces.append(piece[:-1])
            self._ends.append(start + whole)
        while len(self._pieces) > 1 and self._ends[0] < end - LOOKED_THROUGH:
            del self._pieces[0], self._ends[0]
        streamed = "".join(self._pieces) + words(new[whole:])
        self._streamed = f"{streamed.rstrip()} " if streamed else ""

    def rewound(self, length: int) -> None:
        while self._ends and self._ends[-1] > length:
            del self._pieces[-1], self._ends[-1]
        self._streamed = f"{''.join(self._pieces)} " if self._pieces else ""

    def holds(self, text: str, speaker: str = "") -> bool:
        """Whether the text stands there, whole words only, or a part of it as a rendered context shortens it. Where
        somebody else is named as who says it, it is another statement."""
        self.read()
        wanted = words(text[:LONGEST]).removesuffix("... ").removesuffix(": ")
        if not any(map(str.isalnum, wanted)):
            return False
        who = words(speaker)
        given = (*self._asked, *self._heard)
        return any(self._says(text, wanted, who) for text in (*(each.words for each in given), self._streamed)) or any(
            _shows(each.cuts, wanted) for each in given if each.cuts
        )

    def _says(self, given: str, wanted: str, who: str) -> bool:
        return any(not self._is_anothers(given[max(0, at - _LABEL) : at + 1], who) for at in _places(given, wanted))

    def _is_anothers(self, before: str, who: str) -> bool:
        if not who or not before.endswith(" : "):
            return False
        label = before[:-2]
        return not label.endswith(who) and self._names(label.rpartition(" : ")[2])


def _places(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return
        yield at
        at = text.find(wanted, at + 1)


def _shows(cuts: Sequence[str], wanted: str) -> bool:
    """Whether a piece between ellipses is a part of the text: its beginning, its end, or something between."""
    if len(wanted) < 2 * _LEAST_SHOWN:
        return False
    first, last = wanted[:_LEAST_SHOWN], wanted[-_LEAST_SHOWN:]
    for number, piece in enumerate(cuts):
        piece = f" {piece.strip()} "
        cut_before, cut_after = number > 0, number + 1 < len(cuts)
        if cut_after and (at := piece.rfind(first)) >= 0 and wanted.startswith(piece[at:]):
            return True
        if cut_before and (at := piece.find(last)) >= 0 and wanted.endswith(piece[: at + len(last)]):
            return True
        if cut_before and cut_after and len(piece) >= _LEAST_SHOWN and piece in wanted:
            return True
    return False


def _settled(text: str) -> int:
    """Up to where the words of a text that goes on are whole."""
    at = len(text)
    while at > max(0, len(text) - LONGEST) and not _BORDER.match(text[at - 1]):
        at -= 1
    return at
