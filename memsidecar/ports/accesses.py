"""Where counts of recalls are kept: beside the ledger, because reading must not grow what every start replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from memsidecar.domain.scope import Partition
from memsidecar.domain.usage import Access

Counted = Mapping[Partition, Mapping[str, Access]]
"""What was recalled since the last time, by partition and memory id."""


class AccessStore(Protocol):
    """Statistics: a crash of the machine may lose the newest, and losing them all costs nobody a memory.

    Calls take effect in the order in which they are made. Every one raises StoreFull, StoreUnavailable; it has then
    changed nothing.
    """

    async def load(self, partition: Partition) -> Mapping[str, Access]:
        """What is known of a partition's memories; one that was never recalled is left out."""
        ...

    async def add(self, counted: Counted) -> None:
        """Add counts to those that are there and keep the later of the times; all of it or nothing."""
        ...

    async def forget(self, partition: Partition, memory_ids: Sequence[str]) -> None:
        """Erase what is known of these memories; unknown ones are ignored."""
        ...

    async def erase(self, partition: Partition) -> None:
        """Erase everything that is known of a partition, its name included."""
        ...

    async def close(self) -> None: ...
