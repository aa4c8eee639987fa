"""Finds in a text what somebody says is in it: quotes come back with other quotation marks, case and white space."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from memsidecar.domain.claims import Span
from memsidecar.domain.generation.sentences import Sentences
from memsidecar.domain.invisible import INVISIBLE
from memsidecar.domain.text import inside_character

_UNSEEN = re.compile(f"[{INVISIBLE}]")
_SAME = str.maketrans(
    {**dict.fromkeys("‘’‚‛ʼ`´「」『』", "'"), **dict.fromkeys("“”„‟«»《》", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
)
_OUTER = " \"'.,;:!?-()[]。、"
# A quote that has so many times the text's characters is none, however white space and accents are written.
_LONGER = 4
# Between the digits of a number or a time.
_GOES_ON = re.compile(r"[.,:]\d")
_WENT_ON = re.compile(r"\d[.,:]")
# Places of a word in a text that are looked at: enough for what people write, and an end to what they do not.
_MOST_PLACES = 200


class QuotedText:
    """A text of some thousand characters in which quotes are looked for. Making the first that is not exact: 1 µs a
    character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded: tuple[str, list[int]] | None = None
        self._ends: list[int] | None = None

    def find(self, quote: str, near: Span | None = None) -> Span | None:
        """Where the quote stands, whole words only; with `near`, inside it or as near to it as there is.

        As written, else with case, width, accents' spelling, white space, quotation marks and dashes taken as equal,
        else without the punctuation around it. None for a quote without a letter or digit.
        """
        quote = quote.strip()
        if len(quote) > _LONGER * len(self.text) or not any(map(str.isalnum, quote)):
            return None
        found = self._nearest(self._exact(quote), near)
        if found is None:
            folded, _ = _folded(quote)
            found = self._nearest(self._alike(folded), near) or self._nearest(self._alike(folded.strip(_OUTER)), near)
        return found

    def sentence(self, span: Span, most: int) -> str:
        """The sentence or sentences that the span is in, on one line; the span alone if they are longer than `most`
        code points, and of that the first `most`."""
        if self._ends is None:
            self._ends = [0, *Sentences().feed(self.text), len(self.text)]
        start = self._ends[bisect_right(self._ends, span.start) - 1]
        end = self._ends[bisect_left(self._ends, span.end)]
        whole = " ".join(self.text[start:end].split())
        return whole if len(whole) <= most else " ".join(self.text[span.start : span.end].split())[:most]

    def _exact(self, quote: str) -> Iterator[Span]:
        at = self.text.find(quote)
        while at != -1:
            yield Span(at, at + len(quote))
            at = self.text.find(quote, at + 1)

    def _alike(self, quote: str) -> Iterator[Span]:
        if not quote:
            return
        if self._folded is None:
            self._folded = _folded(self.text)
        text, origins = self._folded
        at = text.find(quote)
        while at != -1:
            last = at + len(quote) - 1
            start, end = origins[at], origins[last] + 1
            splits = (at and origins[at - 1] == start) or (last + 1 < len(text) and origins[last + 1] == end - 1)
            if not splits:
                yield Span(start, end)
            at = text.find(quote, at + 1)

    def _nearest(self, places: Iterator[Span], near: Span | None) -> Span | None:
        best: Span | None = None
        for place, _ in zip(places, range(_MOST_PLACES), strict=False):
            if _inside_word(self.text, place.start) or _inside_word(self.text, place.end):
                continue
            if near is None:
                return place
            if best is None or _distance(place, near) < _distance(best, near):
                best = place
        return best


def _distance(one: Span, other: Span) -> int:
    """How far `one` reaches out of `other`."""
    return max(0, other.start - one.start) + max(0, one.end - other.end)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text made comparable, and for each of its characters the place that it comes from."""
    characters: list[str] = []
    origins: list[int] = []
    for place, character in enumerate(text):
        if character.isspace():
            if characters and characters[-1] != " ":
                characters.append(" ")
                origins.append(place)
        elif not _UNSEEN.match(character):
            # Taken apart, so that an accent is the same whether it is a character of its own or not.
            for part in unicodedata.normalize("NFKD", character.translate(_SAME)).casefold():
                characters.append(part)
                origins.append(place)
    return "".join(characters), origins


def _inside_word(text: str, at: int) -> bool:
    """Whether a cut before `at` is inside a word of a script that puts spaces between them, or inside a number."""
    if not 0 < at < len(text):
        return False
    if inside_character(text, at):
        return True
    before, after = text[at - 1], text[at]
    if _in_words(before) and _in_words(after):
        return True
    if _in_words(before):
        return before.isdigit() and _GOES_ON.match(text, at) is not None
    return after.isdigit() and _WENT_ON.match(text, max(0, at - 2)) is not None


def _in_words(character: str) -> bool:
    # Scripts with upper and lower case are written with spaces; those without may not be.
    return character.isdigit() or character.lower() != character.upper()
