"""Which entities are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memsidecar.domain.decision import Decision
from memsidecar.domain.memory import Memory


@dataclass(frozen=True, slots=True)
class Merged:
    entities: tuple[Memory, ...]
    moved: int
    conflicts: tuple[str, ...] = ()


def merge(decision: Decision, target_id: str, source_ids: Sequence[str], reason: str) -> Merged:
    raise NotImplementedError


def unmerge(decision: Decision, source_id: str, reason: str) -> Merged:
    raise NotImplementedError
