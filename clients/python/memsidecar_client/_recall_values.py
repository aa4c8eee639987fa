"""What a recall takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from memsidecar_client._enums import MemoryState, Tier, TierOutcome
from memsidecar_client._memory_values import Memory
from memsidecar_client._session_values import Message


@dataclass(frozen=True, slots=True)
class ScoreComponent:
    """One signal of a score: `contribution` is `raw` times `weight`."""

    signal: str
    raw: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A score taken apart; contributions add up to it. `path` names the entities that led here, if any did."""

    components: tuple[ScoreComponent, ...] = ()
    path: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class HitStanding:
    """Something that a hit says and that no longer holds, or is disputed.

    `memory` is the hit's own, or a fact or preference that was read from it; `state` is SUPERSEDED or DISPUTED, `text`
    the words that it is about. Names tell what holds instead, the conflict, and the memories that say otherwise.
    """

    memory: str
    state: MemoryState
    text: str = ""
    superseding_memory: str = ""
    conflict: str = ""
    counterparts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled memory.

    `score` is 0 to 1 within one recall, `confidence` 0 to 1 and comparable across recalls. `text` is one line, ready
    for a prompt. `duplicates` are resource names of memories that say the same and were folded into this one.
    `suspicious`: it reads like an instruction to a model. `standings` say what of it no longer holds or is disputed;
    one with `counterpart_of` is here because it contradicts that memory, another hit.
    """

    memory: Memory
    score: float
    tier: Tier
    text: str = ""
    explanation: Explanation | None = None
    confidence: float = 0.0
    duplicates: tuple[str, ...] = ()
    suspicious: bool = False
    standings: tuple[HitStanding, ...] = ()
    counterpart_of: str = ""


@dataclass(frozen=True, slots=True)
class MessageHit:
    """A message of the conversation that is going on which bears on the question. `score` is 0 to 1 in one recall."""

    message: Message
    score: float


@dataclass(frozen=True, slots=True)
class TierReport:
    """What one tier did: how many candidates it brought, in what time, and why it failed if it did."""

    tier: Tier
    outcome: TierOutcome
    hit_count: int = 0
    elapsed: timedelta = timedelta()
    message: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    """What was understood of a question: people and entities (resource names) that it names, and the time, half-open.

    `language` is a BCP 47 tag, `breadth` 0 (narrow) to 1 (open). `rewritten_text` is what was searched for when the
    conversation had to help.
    """

    people: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
    language: str = ""
    breadth: float = 0.0
    rewritten_text: str = ""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Hits, best first. `confidence` (0 to 1) is how far to rely on them; `degraded`: a tier did not answer in full.

    `analysis` only when explanations were asked for. `next_page_token` is empty when there are no more hits.
    `messages` are those of the conversation that is going on, best first.
    """

    hits: tuple[Hit, ...]
    confidence: float
    degraded: bool
    revision: str
    tiers: tuple[TierReport, ...]
    analysis: QuestionAnalysis | None = None
    next_page_token: str = ""
    messages: tuple[MessageHit, ...] = ()


@dataclass(frozen=True, slots=True)
class HitFound:
    """A memory, once, when the first tier finds it; its score is provisional."""

    hit: Hit


@dataclass(frozen=True, slots=True)
class MessageFound:
    """A message of the conversation that is going on, once."""

    hit: MessageHit


@dataclass(frozen=True, slots=True)
class TierDone:
    """A tier has ended."""

    report: TierReport


@dataclass(frozen=True, slots=True)
class RecallDone:
    """The last event: the same answer as `recall` gives, in the final order and with final scores.

    Hits that came as events and are not in here did not make the final order.
    """

    result: RecallResult


RecallEvent: TypeAlias = HitFound | MessageFound | TierDone | RecallDone
