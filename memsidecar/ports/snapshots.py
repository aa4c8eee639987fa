"""Snapshots of resident partitions: what makes start-up depend on the ledger's tail, not on its length."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Head

Arrays = Mapping[str, NDArray[Any]]


class Snapshots(Protocol):
    """One snapshot a partition, replaced as a whole. Losing one costs time, never data."""

    async def load(self, partition: Partition) -> tuple[Head, Arrays] | None:
        """The newest snapshot; None when there is none or it is not intact."""
        ...

    async def save(self, partition: Partition, head: Head, arrays: Arrays) -> None:
        """Write a snapshot, atomically. Raises StoreFull, StoreUnavailable; the one before is then kept."""
        ...

    async def drop(self, partition: Partition) -> None:
        """Remove the snapshot, the folder of its vectors included."""
        ...

    def vectors_folder(self, partition: Partition) -> Path:
        """Where the partition's vector index is saved."""
        ...
