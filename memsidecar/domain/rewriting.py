"""Questions that lean on the conversation, made searchable: "and where is that?" after "we talked of the bakery"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memsidecar.domain.mentions import find_mentions
from memsidecar.domain.session import Message, Role
from memsidecar.domain.tokens import query_tokens

# Turns that a question can lean on, and how much of each is looked at.
TURNS = 4
_TURN_CHARS = 400
# Terms that make a question stand on its own.
_ENOUGH_TERMS = 3
# Names and words that a turn lends to the question; more would drown the question's own.
_LENT_NAMES = 6
_LENT_WORDS = 12

_POINTS_BACK = re.compile(
    r"\b(?:it|its|that|this|those|these|there|then|they|them|their|he|him|his|she|her|hers|one|ones|same|again|too|also"
    r"|last time|as before|the other|another|else|more)\b"
    r"|[它他她]们?|那[个里次时样些]?|这[个里次时样些]?|上次|之前|刚才|同样|还是|还有|其他|别的|再|呢|それ|そこ|あれ|その|この|前回|彼|그|거기|저번",
    re.IGNORECASE,
)


def leans_on_conversation(text: str) -> bool:
    """Whether a question names too little to be searched for alone: few words of its own, or words that point back."""
    terms = query_tokens(text)
    if len(terms) <= 1:
        return True
    return len(terms) <= _ENOUGH_TERMS * 2 and bool(_POINTS_BACK.search(text)) and not find_mentions(text)


def rewrite(text: str, turns: Sequence[Message]) -> str:
    """The question with what it points back at: names of the last turns, and words of the user's last one.

    `turns` are the session's messages, oldest first, without the question itself. A question that stands on its own,
    or a conversation that adds nothing, leaves the text as it is.
    """
    spoken = [turn for turn in turns if turn.role in (Role.USER, Role.ASSISTANT) and turn.text.strip()]
    spoken = [turn for turn in spoken if turn.text.strip() != text.strip()][-TURNS:]
    if not spoken or not leans_on_conversation(text):
        return text
    known = set(query_tokens(text))
    names: dict[str, None] = {}
    for turn in reversed(spoken):
        for mention in find_mentions(turn.text[:_TURN_CHARS]):
            names.setdefault(mention.name)
    lent = [name for name in names if not set(query_tokens(name)) <= known][:_LENT_NAMES]
    said = next((turn for turn in reversed(spoken) if turn.role is Role.USER), spoken[-1])
    words = _words(said.text[:_TURN_CHARS], known.union(*(query_tokens(name) for name in lent)))
    return " ".join((text, *lent, *words))


_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_HAS_CASE = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f]")


def _words(text: str, known: set[str]) -> list[str]:
    """Words of a turn that a search can use and that are not there yet, in order."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text):
        terms = query_tokens(word)
        if terms and not set(terms) <= known and (len(word) > 2 or not _HAS_CASE.match(word)):
            found.setdefault(word)
            known = known | set(terms)
    return list(found)[:_LENT_WORDS]
