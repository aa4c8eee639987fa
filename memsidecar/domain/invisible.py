"""Characters that no reader sees, as the inside of a character class: soft hyphens, joiners, directions, fillers,
variation selectors. Between the letters of a word they hide it from a search, before it from what looks at lines."""

from __future__ import annotations

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef"
)
