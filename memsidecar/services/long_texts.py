"""Which texts are read in a thread, because they would hold the event loop."""

from __future__ import annotations

# Texts of this length are read on the loop (about a millisecond); longer ones in a thread. Scripts without spaces have
# two terms a character.
INLINE_ASCII = 4_000
INLINE_CHARS = 800


def is_long(text: str) -> bool:
    return len(text) > (INLINE_ASCII if text.isascii() else INLINE_CHARS)
