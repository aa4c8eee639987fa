"""The question and the answer of a recall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from memsidecar.domain.events import Vectors
from memsidecar.domain.grounds import NO_GROUNDS, Grounds
from memsidecar.domain.memory import Kind, Memory, State
from memsidecar.domain.profile import Profile
from memsidecar.domain.scope import Partition, Scope

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Tier(IntEnum):
    """A way to find a memory. Numbers are part of the API."""

    VECTOR = 2
    GRAPH = 3
    KEYWORD = 4


class TierOutcome(IntEnum):
    OK = 1
    TIMED_OUT = 2
    UNAVAILABLE = 3
    SKIPPED = 4


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a memory must all meet. Empty or None means: no condition, apart from `kinds` and `states`.

    No `kinds`: all but discovered entities. No `states`: active and disputed. Times are half-open intervals.
    """

    kinds: frozenset[Kind] = frozenset()
    states: frozenset[State] = frozenset()
    entities: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    min_created: int | None = None
    max_created: int | None = None
    min_said: int | None = None
    max_said: int | None = None
    min_importance: float | None = None
    min_confidence: float | None = None
    sessions: frozenset[str] = frozenset()
    exclude_sessions: frozenset[str] = frozenset()


NO_FILTER = Filter()


@dataclass(frozen=True, slots=True)
class Question:
    """What to recall. At least one of text, embedding and entities is there.

    `entities` are entity ids of the scope's partition. `soft_deadline` is in seconds. `tiers` empty means all.
    `profile` holds the weights of the ranking, None for those of the namespace.
    """

    scope: Scope
    text: str = ""
    embedding: Vectors | None = None
    entities: tuple[str, ...] = ()
    time: int | None = None
    tiers: frozenset[Tier] = frozenset()
    filter: Filter = NO_FILTER
    max_hits: int = 10
    min_score: float = 0.0
    soft_deadline: float | None = None
    min_revision: int | None = None
    explain: bool = False
    include_shared: bool = False
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class Component:
    """One signal of a score: `contribution` = `raw` x `weight`, and contributions add up to the score."""

    signal: str
    raw: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory. `score` is 0 to 1 and comparable within one recall; `confidence`, 0 to 1, is how likely it is
    that the memory bears on the question. `components` and `path` (entity names) only when asked for."""

    partition: Partition
    memory: Memory
    score: float
    tier: Tier
    components: tuple[Component, ...] = ()
    path: tuple[str, ...] = ()
    confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class TierReport:
    """How one tier did; `elapsed` in seconds, `message` safe to show."""

    tier: Tier
    outcome: TierOutcome
    hit_count: int
    elapsed: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer: hits best first, equal scores in a stable order; `confidence` 0 to 1 for the whole, and the `grounds`
    that it is worked out from."""

    hits: tuple[Hit, ...]
    reports: tuple[TierReport, ...]
    revision: int
    confidence: float
    grounds: Grounds = NO_GROUNDS

    @property
    def degraded(self) -> bool:
        return any(r.outcome in (TierOutcome.TIMED_OUT, TierOutcome.UNAVAILABLE) for r in self.reports)
