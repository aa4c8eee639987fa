"""How far a restore goes: to a moment, or to one partition's revision; and what it took away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from memsidecar.domain.scope import Partition


@dataclass(frozen=True, slots=True)
class AtTime:
    """Every partition as it was then: what was recorded later, microseconds since 1970, is left out.

    As in a read as of a time, a clock that stepped back does not reorder: the first entry recorded later ends it.
    """

    recorded_by: int


@dataclass(frozen=True, slots=True)
class AtRevision:
    """One partition as it was at a revision; the others are whole. `history` is that of the revision, None when that is
    known by its number only."""

    partition: Partition
    revision: int
    history: int | None = None


PointInTime: TypeAlias = AtTime | AtRevision


@dataclass(frozen=True, slots=True)
class Cut:
    """What was taken from a partition, and what it cannot have back.

    `removed` entries after `revision` are gone. `purged` are memories that were there at that revision and have been
    purged since: their payloads are erased. `without_vectors` are those whose vectors of then were overwritten.
    """

    partition: Partition
    revision: int
    removed: int
    purged: tuple[str, ...] = ()
    without_vectors: tuple[str, ...] = ()
