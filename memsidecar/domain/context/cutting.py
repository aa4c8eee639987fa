"""Shortens a text to a number of tokens."""

from __future__ import annotations

from memsidecar.domain.context.values import Count
from memsidecar.domain.text import cut_place, inside_character

ELLIPSIS = "…"
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


def _before(text: str, latest: int) -> int:
    """The best place to cut at or before `latest`; 0 when there is none."""
    at = cut_place(text, latest - latest // _LOOK_BACK, latest)
    while at > 0 and inside_character(text, at):
        at -= 1
    return at
