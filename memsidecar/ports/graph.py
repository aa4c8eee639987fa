"""The graph projection: what is connected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memsidecar.domain.fold import Delta, Edge
from memsidecar.domain.memory import Kind, State
from memsidecar.domain.scope import Partition


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

        An edge to a memory that does not exist (any more) is left out. One writer; calls queue.
        Raises StoreUnavailable when the engine fails; the graph is then as before the call or as after it.
        """
        ...

    async def node(self, partition: Partition, memory_id: str) -> GraphNode | None: ...

    async def nodes(self, partition: Partition, after: str, limit: int) -> Sequence[GraphNode]:
        """Memories of a partition in the order of their ids, after the given id."""
        ...

    async def edges(self, partition: Partition, memory_id: str) -> Sequence[Edge]:
        """Edges that issue from a memory, ordered by relation and target."""
        ...

    async def neighbours(
        self, partition: Partition, starts: Sequence[str], depth: int, limit: int
    ) -> Sequence[Neighbour]:
        """Memories within `depth` (1 to 3) edges of the starts, in either direction, nearest first, starts left out.

        Never leaves the partition. Ties are ordered by id.
        """
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
