"""Shortens a text to a number of tokens."""

from __future__ import annotations

from memsidecar.domain.context.values import Count
from memsidecar.domain.text import begin_place, cut_place, inside_character

ELLIPSIS = "…"
GAP = " […] "
"""Stands for what is missing between the beginning and the end of a text."""
# No tokenizer packs more characters of prose into a token; runs of spaces, which it does pack, are no loss.
_CHARS_PER_TOKEN = 12
# A cut looks for the end of a sentence or a word in the last third.
_LOOK_BACK = 3


def excerpt(text: str, tokens: int, count: Count) -> str:
    """The text, or its beginning with an ellipsis, in at most so many tokens; "" when not even one character fits.

    Cut after a sentence, else between words, else between characters as a reader sees them: never inside one.
    """
    if tokens <= 0:
        return ""
    if len(text) <= _CHARS_PER_TOKEN * tokens and count(text) <= tokens:
        return text
    low, high = 0, min(len(text), _CHARS_PER_TOKEN * tokens)
    while high - low > 1 and high - low > low // 64:
        middle = (low + high) // 2
        if count(text[:middle]) < tokens:
            low = middle
        else:
            high = middle
    while low > 0:
        at = _before(text, low)
        if not at:
            return ""
        shortened = text[:at].rstrip() + ELLIPSIS
        if count(shortened) <= tokens:
            return shortened if shortened != ELLIPSIS else ""
        low = at - 1
    return ""


def both_ends(text: str, tokens: int, count: Count) -> str:
    """The text, or its beginning and its end with GAP between, in at most so many tokens; "" when not even one
    character fits. Cut as an excerpt is."""
    if tokens <= 0:
        return ""
    if len(text) <= _CHARS_PER_TOKEN * tokens and count(text) <= tokens:
        return text
    room = tokens - count(GAP)
    while room > 0:
        begin = excerpt(text, room - room // 2 + 1, count).removesuffix(ELLIPSIS)
        end = _end(text, len(begin), room - count(begin), count)
        if not begin and not end:
            return ""
        shortened = (begin + GAP + end).strip()
        over = count(shortened) - tokens
        if over <= 0:
            return shortened
        room -= over
    return ""


def _end(text: str, earliest: int, tokens: int, count: Count) -> str:
    """The end of the text, from `earliest` on at the most, in at most so many tokens."""
    if tokens <= 0:
        return ""
    size = len(text)
    low, high = max(earliest, size - _CHARS_PER_TOKEN * tokens), size
    while high - low > 1 and high - low > (size - high) // 64:
        middle = (low + high) // 2
        if count(text[middle:]) <= tokens:
            high = middle
        else:
            low = middle
    while high < size:
        at = begin_place(text, high, high + (size - high) // _LOOK_BACK)
        while at < size and inside_character(text, at):
            at += 1
        end = text[at:].lstrip()
        if count(end) <= tokens:
            return end
        high = at + 1
    return ""


def _before(text: str, latest: int) -> int:
    """The best place to cut at or before `latest`; 0 when there is none."""
    at = cut_place(text, latest - latest // _LOOK_BACK, latest)
    while at > 0 and inside_character(text, at):
        at -= 1
    return at
