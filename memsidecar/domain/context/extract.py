"""What a session said before its window, as excerpts: the marks-and-words rule.

There is no stored summary yet, and no model to write one. The rule picks, in this order: messages marked important
(metadata `"importance"` above 0.8, or `"important": true`), those that share words with the question, rare words
first, and the first message of the user among those looked at, which says what it is about. Of a long message it takes
the stretch that shares most. Same messages, same question: same excerpts.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from memsidecar.domain.context.items import Item
from memsidecar.domain.context.values import Part
from memsidecar.domain.session import Message, Role
from memsidecar.domain.text import chunks
from memsidecar.domain.tokens import query_tokens, tokens

IMPORTANT = 0.8
# Excerpts that are considered; a section that had more would be a transcript.
MOST = 24
# Characters of a stretch: two or three sentences.
STRETCH = 320
# A message is looked through so far.
_LOOKED_AT = 16_000


class Extract:
    """`messages`: those of users and assistants, oldest first; tool calls and their results are not quoted."""

    def __init__(self, messages: Sequence[Message], question: str) -> None:
        self._messages = [message for message in messages if message.text]
        terms = frozenset(query_tokens(question))
        words = [terms.intersection(tokens(m.text[:_LOOKED_AT])) if terms else terms for m in self._messages]
        seen_in = Counter(word for found in words for word in found)
        self._worth = {word: math.log(1 + len(words) / count) for word, count in seen_in.items()}
        scores = [sum(self._worth[word] for word in sorted(found)) for found in words]
        marked = [is_important(message) for message in self._messages]
        first = next((at for at, message in enumerate(self._messages) if message.role is Role.USER), None)
        self._places = [at for at in range(len(words)) if marked[at] or scores[at] > 0 or at == first]
        self._places.sort(key=lambda at: (not marked[at], -scores[at], -at))

    def unrelated(self) -> frozenset[int]:
        """Those that have nothing to do with the question, and are not important."""
        return frozenset(m.seq for m in self._messages) - {self._messages[at].seq for at in self._places}

    def without(self, messages: Iterable[Message]) -> list[Item]:
        """What to quote of all but these, the most wanted first."""
        inside = {message.seq for message in messages}
        places = [at for at in self._places if self._messages[at].seq not in inside]
        return [
            Item(Part.SUMMARY, _stretch(message.text, self._worth), message=replace(message, tool_calls=()))
            for message in (self._messages[at] for at in places[:MOST])
        ]


def is_important(message: Message) -> bool:
    if "importan" not in message.metadata:
        return False
    found = json.loads(message.metadata)
    importance = found.get("importance")
    is_number = isinstance(importance, int | float) and not isinstance(importance, bool)
    return found.get("important") is True or (is_number and importance > IMPORTANT)


def _stretch(text: str, worth: dict[str, float]) -> str:
    """The part of a text that shares most with the question; its beginning when none does."""
    if len(text) <= STRETCH:
        return text
    pieces = chunks(text[:_LOOKED_AT], STRETCH, 0)
    shared = [sum(worth.get(word, 0.0) for word in sorted(set(tokens(piece)))) for piece in pieces]
    best = max(range(len(pieces)), key=lambda at: (shared[at], -at))
    before = "… " if best else ""
    after = " …" if best + 1 < len(pieces) or len(text) > _LOOKED_AT else ""
    return before + pieces[best].strip() + after
