"""The conflicts of a partition, by id, by memory and by what they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.conflict import Conflict
from memsidecar.ports.ledger import EventCodec

# An entry of each dictionary, the record and its strings, as measured with two memories.
_CONFLICT_BYTES = 1500


class Conflicts:
    """Newest version of each, in the order in which they were first recorded."""

    def __init__(self, codec: EventCodec) -> None:
        self._codec = codec
        self._conflicts: dict[str, Conflict] = {}
        self._of: dict[str, dict[str, None]] = {}
        self._about: dict[tuple[str, str], dict[str, None]] = {}

    @property
    def nbytes(self) -> int:
        return _CONFLICT_BYTES * len(self._conflicts)

    def __len__(self) -> int:
        return len(self._conflicts)

    def put(self, conflict: Conflict) -> None:
        known = self._conflicts.get(conflict.id)
        about = (conflict.subject, conflict.attribute)
        if known is not None and (was := (known.subject, known.attribute)) != about:
            self._about[was].pop(conflict.id, None)
        self._about.setdefault(about, {})[conflict.id] = None
        for memory_id in known.memories if known is not None else ():
            held = self._of.get(memory_id)
            if held is not None:
                held.pop(conflict.id, None)
                if not held:
                    del self._of[memory_id]
        self._conflicts[conflict.id] = conflict
        for memory_id in conflict.memories:
            self._of.setdefault(memory_id, {})[conflict.id] = None

    def get(self, conflict_id: str) -> Conflict | None:
        return self._conflicts.get(conflict_id)

    def of(self, memory_id: str) -> Sequence[str]:
        """Ids of the conflicts that a memory takes, or took, part in."""
        return tuple(self._of.get(memory_id, ()))

    def about(self, subject: str, attribute: str) -> Sequence[str]:
        """Ids of the conflicts with that subject and attribute, in the order in which they were first recorded."""
        return tuple(self._about.get((subject, attribute), ()))

    def all(self) -> Sequence[Conflict]:
        return tuple(self._conflicts.values())

    def dump(self) -> Mapping[str, NDArray[np.generic]]:
        stored = [self._codec.encode_conflict(conflict) for conflict in self._conflicts.values()]
        return {
            "sizes": np.fromiter(map(len, stored), dtype=np.uint32, count=len(stored)),
            "bytes": np.frombuffer(b"".join(stored), dtype=np.uint8),
        }

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Become what `dump` wrote."""
        data, start = arrays["bytes"].tobytes(), 0
        for size in arrays["sizes"].tolist():
            self.put(self._codec.decode_conflict(data[start : start + size]))
            start += size
