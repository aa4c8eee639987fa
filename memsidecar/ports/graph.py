"""The graph projection: what is connected."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from memsidecar.domain.conflict import ConflictState
from memsidecar.domain.fold import Delta, Edge, Relation
from memsidecar.domain.memory import Kind, State
from memsidecar.domain.scope import Partition
from memsidecar.domain.ties import Tie


@dataclass(frozen=True, slots=True)
class GraphChange:
    """A delta with the ledger position it comes from."""

    position: int
    partition: Partition
    delta: Delta


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A memory as the graph knows it."""

    memory_id: str
    kind: Kind
    state: State
    version: int


@dataclass(frozen=True, slots=True)
class GraphConflict:
    """A conflict as the graph knows it."""

    conflict_id: str
    state: ConflictState
    version: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory reached from a start, over how many edges, and by which edge last."""

    memory_id: str
    depth: int
    edge: Edge


class GraphStore(Protocol):
    """Follows the ledger; can be deleted and rebuilt at any time. Every query goes through one partition's key."""

    @property
    def rebuilt(self) -> str:
        """Why the graph was set aside at open ("" when it was not), for the log and `doctor`."""
        ...

    @property
    def needs_rebuild(self) -> bool:
        """Whether the files hold mostly dead space: `reset`, and apply everything again, when convenient."""
        ...

    async def applied(self) -> int:
        """The ledger position up to which the graph is complete; 0 for an empty one."""
        ...

    async def apply(self, changes: Sequence[GraphChange]) -> None:
        """Apply changes in order, in one transaction that also stores the last position. Idempotent.

        A record's newest version, memory or conflict, replaces all that it draws. An edge is drawn to and from what is
        there at that moment: one to a memory that does not exist (any more) is left out, also when its id is used again
        later; a history records what is referred to first. A purge takes all edges at a memory along, and those that it
        draws between others. How changes are cut into calls makes no difference. One writer; calls queue.
        Raises StoreUnavailable when the engine fails; the graph is then as before the call or as after it.
        """
        ...

    async def node(self, partition: Partition, memory_id: str) -> GraphNode | None: ...

    async def nodes(self, partition: Partition, after: str, limit: int) -> Sequence[GraphNode]:
        """Memories of a partition in the order of their ids, after the given id."""
        ...

    async def edges(
        self, partition: Partition, memory_ids: Sequence[str], relations: Collection[Relation] = ()
    ) -> Sequence[Edge]:
        """Edges from these memories to another, each once, ordered by relation, source and target; of the relations, or
        of all."""
        ...

    async def neighbours(
        self,
        partition: Partition,
        starts: Sequence[str],
        depth: int,
        limit: int,
        relations: Collection[Relation] = (),
    ) -> Sequence[Neighbour]:
        """Memories within `depth` (1 to 3) edges of the starts, in either direction, nearest first, starts left out.

        Only over the relations, or over all when there are none. Never leaves the partition. Ties are ordered by id.
        """
        ...

    async def ties(self, partition: Partition, memory_ids: Sequence[str]) -> Sequence[Tie]:
        """All ties that start or end at one of the memories, each once, ordered by relation, source, target, drawer.

        A judgement has the validity of its target as the graph knows it.
        """
        ...

    async def conflicts(self, partition: Partition, after: str, limit: int) -> Sequence[GraphConflict]:
        """Conflicts of a partition in the order of their ids, after the given id."""
        ...

    async def count(self, partition: Partition) -> int: ...

    async def checkpoint(self) -> None:
        """Fold the engine's log into its file, safely against a kill at any instruction."""
        ...

    async def reset(self, reason: str, keep: bool = True) -> None:
        """Set the files aside and start empty; `applied` is 0 afterwards.

        `keep` False removes them once the new ones are there: only for files that are known to be whole.
        """
        ...

    async def check(self) -> None:
        """Raises StoreUnavailable when a query fails now. Cheap; for readiness."""
        ...

    async def close(self) -> None: ...
