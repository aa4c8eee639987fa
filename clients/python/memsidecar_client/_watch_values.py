"""What a watch tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from memsidecar_client._errors import MemsidecarError
from memsidecar_client._knowledge_values import MemoryConflict
from memsidecar_client._memory_values import MemoryRevision


@dataclass(frozen=True, slots=True)
class MemoryChanged:
    """A memory was created, changed, deleted, restored or purged.

    The change's snapshot is the memory as it was left; None when it has been purged, by this change or since.
    """

    change: MemoryRevision
    revision: str

    @property
    def memory(self) -> str:
        """The resource name of the memory."""
        return self.change.name.rpartition("/revisions/")[0]


@dataclass(frozen=True, slots=True)
class ConflictChanged:
    """A conflict was opened or changed, whatever of it; as it was then."""

    conflict: MemoryConflict
    revision: str


@dataclass(frozen=True, slots=True)
class WatchHeartbeat:
    """The watch is alive, and every change up to `revision` was looked at. `caught_up`: what follows is live."""

    caught_up: bool
    revision: str


@dataclass(frozen=True, slots=True)
class WatchBehind:
    """Changes come faster than they are read. They follow all the same, in order: `pending` of the whole user's."""

    pending: int
    revision: str


@dataclass(frozen=True, slots=True)
class WatchInterrupted:
    """The sidecar does not answer, because of `error`; the watch goes on after `revision` as soon as it does."""

    error: MemsidecarError
    revision: str


WatchEvent: TypeAlias = MemoryChanged | ConflictChanged | WatchHeartbeat | WatchBehind | WatchInterrupted
"""What a watch tells, in order. A watch after its `revision` goes on without a loss or a duplicate."""
