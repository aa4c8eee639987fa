"""What a recall takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from memsidecar_client._enums import Tier, TierOutcome
from memsidecar_client._memory_values import Memory


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
class Hit:
    """One recalled memory. `score` is 0 to 1 within one recall. `text` is one line, ready for a prompt."""

    memory: Memory
    score: float
    tier: Tier
    text: str = ""
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class TierReport:
    """What one tier did: how many candidates it brought, in what time, and why it failed if it did."""

    tier: Tier
    outcome: TierOutcome
    hit_count: int = 0
    elapsed: timedelta = timedelta()
    message: str = ""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Hits, best first. `confidence` (0 to 1) is how far to rely on them; `degraded`: a tier did not answer in full."""

    hits: tuple[Hit, ...]
    confidence: float
    degraded: bool
    revision: str
    tiers: tuple[TierReport, ...]


@dataclass(frozen=True, slots=True)
class HitFound:
    """A memory, once, when the first tier finds it; its score is provisional."""

    hit: Hit


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


RecallEvent: TypeAlias = HitFound | TierDone | RecallDone
