"""Where sentences end in text that comes in pieces, in any language, however it is cut."""

from __future__ import annotations

import re

from memsidecar.domain.text import CJK

# These end a sentence wherever they stand.
_ALWAYS = "。！？｡…‼⁇⁈⁉।॥؟۔։።។။།\n\r\u2028\u2029"
# Of these, what follows decides: "3.14", "v1.2", "a.com/?q=1" and "Yahoo!x" go on.
_PERHAPS = ".!?．"
_CLOSING = "\"'”’»)]}」』）】》〉〕］｝*_"
_END = re.compile(f"[{_ALWAYS}{_PERHAPS}]")
_WORD = re.compile(r"[^\W_]")
_IS_CJK = re.compile(f"[{CJK}]")

# What stands before a full stop is looked at this far back.
_LOOK_BACK = 24
_LAST_WORD = re.compile(r"[^\s()\[\]{}\"“”‘«»（）【】《》,;:，；：/—*_#>]*$")
# Words of one letter, single letters with stops between them: "J. Smith", "e.g.", "p.m.", "z.B."
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_ABBREVIATIONS = frozenset(
    """al approx bd bzw ca capt cf col dept dr ed eds etc fig figs gen gov inc ing jr lt ltd messrs mgr mlle mme mr mrs
    ms mt mx nr op pp prof rev sen sgt sr sra srta st ste supt tel usw viz vol vols vs им проф стр см ул""".split()
)
_NUMBER_OF_LIST = re.compile(r"[\n\r][ \t#>*-]*\d{1,3}$")


class Sentences:
    """Finds ends. An end is the place after the first sign of those that end a sentence: what closes it (quotes,
    brackets, more signs, line ends) belongs to it. A sentence has a letter or a digit in it.

    The ends are the same however the text is cut. The last one may be undecided until more text or a quiet moment.
    """

    def __init__(self, start: int = 0) -> None:
        self._place = start
        self._before = ""
        self._has_words = False
        self._undecided: int | None = None
        # What stands before the full stop that is undecided; None when it is another sign.
        self._before_stop: str | None = None

    @property
    def undecided(self) -> bool:
        """Whether a sentence may just have ended."""
        return self._undecided is not None and not self._abbreviates()

    def feed(self, text: str) -> list[int]:
        """The ends that are certain now, ascending, as places in all the text."""
        ends: list[int] = []
        at = 0
        while at < len(text):
            if self._undecided is not None:
                character = text[at]
                if character in _PERHAPS or character in _CLOSING:
                    self._before_stop = None if character in "!?" else self._before_stop
                    at += 1
                    continue
                self._decide(_ends_before(character), ends)
            found = _END.search(text, at)
            stop = found.start() if found is not None else len(text)
            if not self._has_words and _WORD.search(text, at, stop):
                self._has_words = True
            if found is not None and self._has_words:
                self._undecided = self._place + stop + 1
                self._before_stop = self._seen_before(text, stop) if found.group() in ".．" else None
                if found.group() in _ALWAYS:
                    self._decide(True, ends)
            at = stop + 1
        self._before = (self._before + text[-_LOOK_BACK:])[-_LOOK_BACK:]
        self._place += len(text)
        return ends

    def settle(self) -> list[int]:
        """The end that was undecided, if there is one: nothing more has come for a while."""
        ends: list[int] = []
        if self._undecided is not None:
            self._decide(True, ends)
        return ends

    def _decide(self, ended: bool, ends: list[int]) -> None:
        if ended and self._undecided is not None and not self._abbreviates():
            ends.append(self._undecided)
            self._has_words = False
        self._undecided = self._before_stop = None

    def _seen_before(self, text: str, stop: int) -> str:
        before = text[max(0, stop - _LOOK_BACK) : stop]
        if len(before) < _LOOK_BACK:
            before = (self._before + before)[-_LOOK_BACK:]
        # What is seen begins in the middle of a line unless the text begins there.
        return before if len(before) < self._place + stop else "\n" + before

    def _abbreviates(self) -> bool:
        """Whether the full stop that is undecided belongs to the word, or the number, before it."""
        before = self._before_stop
        if before is None:
            return False
        last = _LAST_WORD.search(before)
        word = last.group() if last is not None else ""
        if word.lower() in _ABBREVIATIONS:
            return True
        if _INITIALS.fullmatch(word):
            return word != "I" and not _IS_CJK.search(word)
        return word.isdigit() and _NUMBER_OF_LIST.search(before) is not None


def _ends_before(character: str) -> bool:
    """Whether a sentence that a sign may have ended did so, by the character after it."""
    if character.isalnum():
        return _IS_CJK.match(character) is not None
    return not character.isascii() or character.isspace()


def sentence_before(text: str, place: int, most: int) -> int:
    """Where to begin so that what stands from `place` on is understood: at the beginning of its sentence or, when one
    begins there, of the sentence before; at most `most` code points back, between words where there are any.

    `text` is what stands up to a little after `place`.
    """
    first = max(0, place - most)
    if place == 0:
        return 0
    ends = [end for end in Sentences(first).feed(text[first : place + 2]) if end <= place]
    starts = [_after_closing(text, end, place) for end in ends]
    under_way = [start for start in starts if _WORD.search(text, start, place)]
    if under_way and under_way[-1] == starts[-1]:
        return starts[-1]
    before = under_way[-1:]
    if before:
        return before[0]
    if first == 0:
        return 0
    space = text.find(" ", first - 1, place)
    return space + 1 if space != -1 else first


def _after_closing(text: str, start: int, end: int) -> int:
    while start < end and (text[start].isspace() or text[start] in _CLOSING or _END.match(text[start])):
        start += 1
    return start
