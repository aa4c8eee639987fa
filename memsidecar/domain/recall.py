"""The question and the answer of a recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from memsidecar.domain.events import Vectors
from memsidecar.domain.grounds import NO_GROUNDS, Grounds
from memsidecar.domain.memory import Kind, Memory, State
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.session import Message

_NOTHING: Mapping[str, str] = MappingProxyType({})
_NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})


class Tier(IntEnum):
    """A way to find a memory, or to put what was found in order. Numbers are part of the API."""

    SESSION = 1
    VECTOR = 2
    GRAPH = 3
    KEYWORD = 4
    RECENCY = 5
    RERANKER = 6


class TierOutcome(IntEnum):
    OK = 1
    TIMED_OUT = 2
    UNAVAILABLE = 3
    SKIPPED = 4


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a memory must all meet. Empty or None means: no condition, apart from `kinds` and `states`.

    No `kinds`: all but discovered entities. No `states`: active and disputed. Times are half-open intervals.
    `valid_at`: true in the world then, as far as the memory says; without states also what has been superseded since.
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
    valid_at: int | None = None


NO_FILTER = Filter()


@dataclass(frozen=True, slots=True)
class Question:
    """What to recall. At least one of text, embedding and entities is there.

    `entities` are entity ids of the scope's partition. `soft_deadline` is in seconds. `tiers` empty means all.
    `conversation` is the id of the session that is going on. `zone` is an IANA name. `known_at` asks for what was known
    then. `profile` is a name, empty the namespace's; `weights` replace some of it. `diversity` None means the
    profile's. `skip` hits were on earlier pages. What does not ask (`asks`) is a piece of text that says something:
    only what is close to it counts. The memories of `without`, wherever they live, and what says the same take no place
    among the hits; how likely the others are is judged beside them.
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
    conversation: str = ""
    zone: str = "UTC"
    known_at: int | None = None
    profile: str = ""
    weights: Mapping[str, float] = field(default_factory=lambda: _NO_WEIGHTS)
    diversity: float | None = None
    adaptive: bool = False
    only_named_time: bool = False
    skip: int = 0
    asks: bool = True
    without: Collection[tuple[Partition, str]] = ()


@dataclass(frozen=True, slots=True)
class Component:
    """One signal of a score: `contribution` = `raw` x `weight`, and contributions add up to the score."""

    signal: str
    raw: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True)
class HitStanding:
    """Something that a hit states is SUPERSEDED or DISPUTED. All ids are of the hit's partition.

    `memory_id` is the hit's own or that of a fact that was read from it, `text` what it says. `superseded_by` holds
    instead, at the end of the chain; `newer` is that with the memories it was read from. `counterparts` say otherwise:
    the other memories of the conflict, and those that they were read from.
    """

    memory_id: str
    state: State
    text: str
    superseded_by: str = ""
    conflict_id: str = ""
    counterparts: tuple[str, ...] = ()
    newer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory. `score` is 0 to 1 and comparable within one recall; `confidence`, 0 to 1, is how likely it is
    that the memory bears on the question. `components` and `path` (entity names) only when asked for. `duplicates` are
    memories that were folded into it. `suspicious`: it reads like an instruction to a model. `standings`: what it
    states that does not hold as it stands. `counterpart_of`: the id of the hit that it contradicts, if it is here for
    that.
    """

    partition: Partition
    memory: Memory
    score: float
    tier: Tier
    components: tuple[Component, ...] = ()
    path: tuple[str, ...] = ()
    confidence: float = 0.0
    duplicates: tuple[tuple[Partition, str], ...] = ()
    suspicious: bool = False
    standings: tuple[HitStanding, ...] = ()
    counterpart_of: str = ""


@dataclass(frozen=True, slots=True)
class MessageHit:
    """A message of the conversation that is going on. `score` is 0 to 1."""

    message: Message
    score: float


@dataclass(frozen=True, slots=True)
class Understanding:
    """What was understood of a question. `start` and `end`: the time that it names, half-open, or None.

    `breadth` is 0 (narrow) to 1 (open); `rewritten` is what was searched for when the conversation had to help.
    """

    people: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None
    language: str = "und"
    breadth: float = 0.0
    rewritten: str = ""


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
    """The answer: hits best first, equal scores in a stable order; `confidence` 0 to 1 for the whole, and its grounds.

    `more`: there are hits for another page.
    """

    hits: tuple[Hit, ...]
    reports: tuple[TierReport, ...]
    revision: int
    confidence: float
    grounds: Grounds = NO_GROUNDS
    messages: tuple[MessageHit, ...] = ()
    understanding: Understanding | None = None
    more: bool = False

    @property
    def degraded(self) -> bool:
        return any(r.outcome in (TierOutcome.TIMED_OUT, TierOutcome.UNAVAILABLE) for r in self.reports)
