"""Pages that agree: how deep a page lies says which candidates are looked for, and those before it stay as they were.

What a hit scores depends on what else was found, for neighbours in a talk and rows about the same share their
relevance. With more candidates for each further page, hits would change places between two of them. So hits come in
strata: the first one is the first page, each further one ends four times as deep, and what a stratum has shown is not
looked for below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memsidecar.domain.limits import MAX_DEPTH_OF_PAGES
from memsidecar.domain.recall import Question
from memsidecar.domain.scope import Partition

_GROWTH = 4


@dataclass(frozen=True, slots=True)
class Stratum:
    """Hits from number `start`, counted from 0, up to `end`."""

    start: int
    end: int

    @property
    def depth(self) -> int:
        return self.end - self.start

    @property
    def is_last(self) -> bool:
        return self.end >= MAX_DEPTH_OF_PAGES


def strata(first: int) -> Iterator[Stratum]:
    """All there are; `first` is how many hits are in the first. Pages of a size that divides it lie in one each."""
    start, end = 0, first
    while True:
        yield (stratum := Stratum(start, min(end, MAX_DEPTH_OF_PAGES)))
        if stratum.is_last:
            return
        start, end = end, _GROWTH * end


def below(question: Question, stratum: Stratum, told: frozenset[tuple[Partition, str]]) -> Question:
    """The question for a stratum, when those above it have shown `told`."""
    without = {*question.without, *told} if told else question.without
    return replace(question, skip=0, max_hits=stratum.end, without=without)
