"""Messages of the conversation that is going on which bear on a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from memsidecar.domain.recall import MessageHit
from memsidecar.domain.session import Message, Role
from memsidecar.domain.tokens import query_tokens, tokens

# Characters of a message that are looked at; a pasted file is not matched word by word.
_MESSAGE_CHARS = 4_000
# Messages that bear on a question, at most: the window brings the newest anyway.
MOST = 10


def bearing(text: str, messages: Sequence[Message]) -> tuple[MessageHit, ...]:
    """The messages that share words with a question, best first, then newest first.

    A score is the share of the question's idf mass (over these messages, ln(1 + N/df)) that a message holds: 0 to 1.
    The question itself, if it is the newest message already, and tool traffic are left out.
    """
    asked = query_tokens(text)
    heard = [m for m in messages if m.role in (Role.USER, Role.ASSISTANT) and m.text.strip() != text.strip()]
    if not asked or not heard:
        return ()
    held = [frozenset(tokens(message.text[:_MESSAGE_CHARS])) for message in heard]
    counts = Counter(term for terms in held for term in terms)
    weights = {term: math.log1p(len(heard) / max(1, counts[term])) for term in asked}
    mass = sum(weights.values())
    scored = [
        MessageHit(message, sum(weights[term] for term in asked if term in terms) / mass)
        for message, terms in zip(heard, held, strict=True)
    ]
    found = [hit for hit in scored if hit.score > 0]
    found.sort(key=lambda hit: (-hit.score, -hit.message.seq))
    return tuple(found[:MOST])
