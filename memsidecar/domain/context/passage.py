"""The part of a long text that says most of what is asked, in a number of tokens."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from memsidecar.domain.context.cutting import ELLIPSIS, excerpt
from memsidecar.domain.context.values import Count
from memsidecar.domain.text import begin_place, chunks, sentences
from memsidecar.domain.tokens import query_tokens, tokens

# Sentences are compared with the question; of a longer one so many characters at a time.
_LONGEST = 240
# Of what is shown, this part may come before the sentence that was looked for: it says what that is about.
_LEAD = 4


@dataclass(slots=True)
class Asked:
    """What is looked for in texts: the words of a question."""

    terms: frozenset[str]
    # Each text is read once, however often it is cut.
    _places: dict[str, tuple[int, int] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, question: str) -> Asked:
        return cls(frozenset(query_tokens(question)))

    def passage(self, text: str, most: int, count: Count) -> str:
        """The text, or the part of it around the sentence that shares most with the question, in at most so many
        tokens, with an ellipsis where it was cut; the beginning when none shares a word. Words that are rare in the
        text count most. Same text, same question: same part."""
        beginning = excerpt(text, most, count)
        if beginning is text or not self.terms or not beginning:
            return beginning
        if text not in self._places:
            self._places[text] = self._place(text)
        place = self._places[text]
        if place is None or place[1] <= len(beginning) - len(ELLIPSIS):
            return beginning
        first, end = place
        start = max(0, min(first - len(beginning) // _LEAD, len(text) - len(beginning)))
        while True:
            start = begin_place(text, start, first)
            shown = excerpt(text[start:], most - count(ELLIPSIS), count)
            if start >= first or start + len(shown.removesuffix(ELLIPSIS)) >= end:
                return ELLIPSIS + shown if shown else beginning
            # Nearer to the sentence, so that it is not what is cut off.
            start += (first - start + 1) // 2

    def _place(self, text: str) -> tuple[int, int] | None:
        """Where the sentence stands that shares most; of equal ones the first. None: no sentence shares a word."""
        pieces = [piece for sentence in sentences(text) for piece in chunks(sentence, _LONGEST, 0)]
        found = [self.terms.intersection(tokens(piece)) for piece in pieces]
        seen_in = Counter(word for words in found for word in words)
        worth = {word: math.log(1 + len(pieces) / number) for word, number in seen_in.items()}
        shared = [sum(worth[word] for word in sorted(words)) for words in found]
        best = max(range(len(pieces)), key=lambda at: (shared[at], -at))
        if not shared[best]:
            return None
        start = sum(map(len, pieces[:best]))
        return start, start + len(pieces[best].rstrip())
