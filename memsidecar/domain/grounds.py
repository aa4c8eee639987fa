"""What an answer rests on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an answer rests on: the best cosine, and, when one person is asked about, by how much the best of that
    person's turns is ahead of the others' in words and in cosine, and the share of that person in the best candidates,
    weighted by relevance, above one half. 0 when nobody is asked about."""

    similarity: float = 0.0
    keyword_lead: float = 0.0
    similarity_lead: float = 0.0
    share: float = 0.0

    @property
    def features(self) -> tuple[float, ...]:
        return (self.similarity, self.keyword_lead, self.similarity_lead, self.share)


NO_GROUNDS = Grounds()
