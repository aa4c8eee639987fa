"""The graph around a memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memsidecar.domain.as_of import AsOf
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition


@dataclass(frozen=True, slots=True)
class Near:
    memory: Memory
    depth: int
    source: str
    relation: str
    target: str


@dataclass(frozen=True, slots=True)
class NearPage:
    neighbours: tuple[Near, ...]
    next: str | None
    now: int


class Neighbours:
    async def __call__(
        self,
        partition: Partition,
        memory_id: str,
        depth: int,
        relations: Collection[str],
        as_of: AsOf,
        after: str,
        limit: int,
    ) -> NearPage:
        raise NotImplementedError
