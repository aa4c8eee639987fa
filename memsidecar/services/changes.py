"""Who wants to know of the next change of a partition is told in the moment it is committed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from memsidecar.domain.events import Entry
from memsidecar.domain.scope import Partition
from memsidecar.services.resident import Resident

_log = logging.getLogger(__name__)

Listener: TypeAlias = Callable[[Sequence[Entry]], None]


class Changes:
    """Tells who listens of every commit, in order, in the event loop, before the writer is answered.

    By then the resident partition shows it. Listeners are kept by partition: they outlive its eviction, and cost
    nothing while nobody writes. A commit that is durable and yet could not be applied is not told: a revision that does
    not follow the one before says so, and the ledger has what is between.
    """

    def __init__(self) -> None:
        self._listeners: dict[Partition, dict[Listening, Listener]] = {}

    def notice(self, resident: Resident, entries: Sequence[Entry]) -> None:
        """Entries that have been committed. Never raises: a listener that does is dropped."""
        listeners = self._listeners.get(resident.partition)
        if not listeners or not entries:
            return
        for listening, listener in list(listeners.items()):
            if listening not in listeners:
                continue  # closed by one that was told before it
            try:
                listener(entries)
            except Exception as error:
                # Without its message: that may quote what a user said.
                _log.error("a listener is dropped", extra={"problem": type(error).__name__})
                listening.close()

    def listen(self, partition: Partition, listener: Listener) -> Listening:
        """Call `listener` with what is committed to the partition from now on, until closed.

        It must return at once, and neither wait nor keep more than it has bounded.
        """
        listening = Listening(self, partition)
        self._listeners.setdefault(partition, {})[listening] = listener
        return listening

    def forget(self, listening: Listening) -> None:
        listeners = self._listeners.get(listening.partition)
        if listeners is not None and listeners.pop(listening, None) is not None and not listeners:
            del self._listeners[listening.partition]


class Listening:
    """Ends with `close`, which may be called more than once, also while the listener is told."""

    __slots__ = ("_changes", "partition")

    def __init__(self, changes: Changes, partition: Partition) -> None:
        self._changes, self.partition = changes, partition

    def close(self) -> None:
        self._changes.forget(self)
