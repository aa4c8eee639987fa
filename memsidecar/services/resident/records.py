"""The records of a partition, compact: stored bytes, with the recently used ones decoded."""

from __future__ import annotations

from collections.abc import Mapping
from sys import getsizeof

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import EventCodec

# Decoded records kept a partition: enough for its working set of hits, small beside the vectors (about 1 KB each).
DECODED = 8192
# Their texts together: some are half a megabyte.
DECODED_TEXT_BYTES = 16 * 1024 * 1024
_BYTES_OVERHEAD = 33
_DECODED_BYTES = 1100


class Records:
    """Row -> Memory. A row may be replaced; a purged one is empty."""

    def __init__(self, partition: Partition, codec: EventCodec) -> None:
        self._partition, self._codec = partition, codec
        self._stored: list[bytes | None] = []
        self._decoded: dict[int, Memory] = {}
        self._stored_bytes = 0
        self._text_bytes = 0

    @property
    def nbytes(self) -> int:
        decoded = len(self._decoded) * _DECODED_BYTES + self._text_bytes
        return self._stored_bytes + len(self._stored) * (8 + _BYTES_OVERHEAD) + decoded

    def put(self, row: int, memory: Memory) -> None:
        """Store a row's newest version. Its bytes are made when it leaves the decoded ones."""
        if row == len(self._stored):
            self._stored.append(None)
        elif (old := self._stored[row]) is not None:
            self._stored_bytes -= len(old)
            self._stored[row] = None
        self._leave(row)
        self._keep(row, memory)

    def get(self, row: int) -> Memory:
        """Raises KeyError for a row that is empty."""
        memory = self._decoded.get(row)
        if memory is None:
            stored = self._stored[row]
            if not stored:
                raise KeyError(row)
            memory = self._codec.decode_memory(stored, self._partition)
            self._keep(row, memory)
        return memory

    def drop(self, row: int) -> None:
        """Forget a row's content."""
        self._leave(row)
        if (old := self._stored[row]) is not None:
            self._stored_bytes -= len(old)
        self._stored[row] = b""

    def _keep(self, row: int, memory: Memory) -> None:
        size = getsizeof(memory.text)
        while self._decoded and (len(self._decoded) >= DECODED or self._text_bytes + size > DECODED_TEXT_BYTES):
            oldest = next(iter(self._decoded))
            self._pack(oldest, self._decoded[oldest])
            self._leave(oldest)
        self._decoded[row] = memory
        self._text_bytes += size

    def _leave(self, row: int) -> None:
        memory = self._decoded.pop(row, None)
        if memory is not None:
            self._text_bytes -= getsizeof(memory.text)

    def _pack(self, row: int, memory: Memory) -> None:
        if self._stored[row] is None:
            packed = self._codec.encode_memory(memory)
            self._stored[row] = packed
            self._stored_bytes += len(packed)

    def dump(self) -> Mapping[str, NDArray[np.generic]]:
        for row, memory in list(self._decoded.items()):
            self._pack(row, memory)
        stored = [s or b"" for s in self._stored]
        return {
            "records": np.frombuffer(b"".join(stored), dtype=np.uint8),
            "record_sizes": np.fromiter(map(len, stored), dtype=np.uint32, count=len(stored)),
        }

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        blob = arrays["records"].tobytes()
        start = 0
        for size in arrays["record_sizes"].tolist():
            self._stored.append(blob[start : start + size])
            start += size
        self._stored_bytes = len(blob)
