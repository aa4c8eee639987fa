"""Which texts are worth a model's time: most turns hold nothing to remember, and each costs money."""

from __future__ import annotations

import re

from memsidecar.domain.claims_read import claims_read

# Code points that are looked at; and those below which nobody says anything of himself.
_READ = 4_000
_SHORTEST = 8
_OWN = re.compile(r"\b(?:I|I['’]\w+|my|me|mine|we|our|us)\b|[我咱俺]|私|僕|俺|내|나는|저는|제", re.IGNORECASE)
_SMALL_TALK = re.compile(
    r"^\W*(?:(?:hi|hello|hey|thanks?(?: you)?(?: so much| a lot)?|ok(?:ay)?|yes|no|sure|great|cool|bye"
    r"|good (?:morning|night|evening)|see you"
    r"|got it|sounds good|you['’]re welcome|好的?|谢谢|嗯|是的|再见|你好|早上好|晚安)\W*){1,4}$",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"^[^.。!！\n]{0,400}[?？]\s*$")


def worth_asking(text: str) -> bool:
    """Whether a text may say something of its author that only a model finds; True also when the rules find something:
    then there is often more."""
    text = text[:_READ].strip()
    if (len(text) < _SHORTEST and text.isascii()) or len(text) < 4:
        return False
    if _SMALL_TALK.match(text[:80]) and len(text) <= 80:
        return False
    if _QUESTION.match(text):
        return bool(claims_read(text))
    return _OWN.search(text) is not None
