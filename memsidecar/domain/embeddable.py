"""What may be given to an embedder."""

from __future__ import annotations

from collections.abc import Sequence


def embeddable(texts: Sequence[str], max_chars: int) -> list[str]:
    """The texts, each cut to `max_chars` code points.

    Raises ValueError for an empty text, and for one with NUL or a lone surrogate: some models stop reading there,
    others fail. Such text is refused at the edge of the process, so that one here is a mistake in the code.
    """
    accepted: list[str] = []
    for position, text in enumerate(texts):
        if not text:
            raise ValueError(f"text {position} is empty")
        cut = text[:max_chars]
        if "\0" in cut:
            raise ValueError(f"text {position} holds NUL")
        # isascii() is a flag of the string; only other text needs the encoder's look at every character.
        if not cut.isascii() and any("\ud800" <= character <= "\udfff" for character in cut):
            raise ValueError(f"text {position} holds a lone surrogate")
        accepted.append(cut)
    return accepted
