"""Many changes folded into what has to be done to the graph, before the engine sees any of it.

The outcome is that of the changes one by one: an edge is there when both its ends were there as the newest version of
the record that draws it came, and neither was purged since. So it does not matter how a history is cut into batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memsidecar.adapters.kuzu_graph.arcs import Arc, arcs_of, arcs_of_conflict
from memsidecar.adapters.kuzu_graph.keys import conflict_end, memory_key, partition_key
from memsidecar.domain.conflict import Conflict
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.ports.graph import GraphChange

Arcs = Mapping[Arc, tuple[str, ...]]
"""What a record draws; an edge is drawn if all the keys with it were in the graph before the batch."""


@dataclass(frozen=True, slots=True)
class Put:
    """The last state of a memory in a batch; `partition` is a partition key."""

    partition: str
    memory: Memory


@dataclass(frozen=True, slots=True)
class Judged:
    """The last state of a conflict in a batch; `partition` is a partition key."""

    partition: str
    conflict: Conflict


@dataclass(slots=True)
class Batch:
    """The outcome of changes: memories by key to purge first, then those to put. Positions up to `last` are in it.

    `drawn` holds for each memory put (by key) and conflict (by its end) all edges that it draws.
    """

    last: int
    partitions: dict[str, Partition] = field(default_factory=dict)
    purges: dict[str, str] = field(default_factory=dict)
    puts: dict[str, Put] = field(default_factory=dict)
    conflicts: dict[str, Judged] = field(default_factory=dict)
    drawn: dict[str, Arcs] = field(default_factory=dict)

    @property
    def asked(self) -> Iterable[str]:
        """Keys of which it matters whether they were in the graph before the batch."""
        return dict.fromkeys(key for arcs in self.drawn.values() for keys in arcs.values() for key in keys)


def fold(changes: Sequence[GraphChange], applied: int) -> Batch:
    """Changes after position `applied` as one batch; earlier ones are in the graph already and would set it back."""
    return _Folding(applied).fold(changes)


class _Folding:
    def __init__(self, applied: int) -> None:
        self._applied = applied
        self._batch = Batch(applied)
        # Whether a memory that this batch has touched is there, after the changes so far.
        self._alive: dict[str, bool] = {}
        self._drawn: dict[str, dict[Arc, tuple[str, ...]]] = {}
        # Which records of the batch drew edges to or from a memory.
        self._touching: dict[str, dict[str, None]] = defaultdict(dict)

    def fold(self, changes: Sequence[GraphChange]) -> Batch:
        batch = self._batch
        keys: dict[Partition, str] = {}
        for change in changes:
            if change.position <= self._applied:
                continue
            batch.last = max(batch.last, change.position)
            delta = change.delta
            if delta.put is None and delta.conflict is None and not delta.purged:
                continue
            partition = keys.get(change.partition)
            if partition is None:
                partition = keys[change.partition] = partition_key(change.partition)
            key = memory_key(partition, delta.subject)
            if delta.purged:
                self._purge(key, partition)
            if delta.put is not None:
                batch.partitions[partition] = change.partition
                batch.puts[key] = Put(partition, delta.put)
                self._alive[key] = True
                self._draw(key, arcs_of(delta.put, partition))
            if delta.conflict is not None:
                end = conflict_end(key)
                batch.partitions[partition] = change.partition
                batch.conflicts[end] = Judged(partition, delta.conflict)
                self._draw(end, arcs_of_conflict(delta.conflict, partition))
        batch.drawn.update(self._drawn)
        return batch

    def _purge(self, key: str, partition: str) -> None:
        self._batch.puts.pop(key, None)
        self._batch.purges[key] = partition
        self._drawn.pop(key, None)
        self._alive[key] = False
        for drawer in self._touching.pop(key, ()):
            drawn = self._drawn.get(drawer)
            if drawn is not None:
                self._drawn[drawer] = {a: asked for a, asked in drawn.items() if key not in (a.source, a.target)}

    def _draw(self, drawer: str, arcs: Iterable[Arc]) -> None:
        drawn: dict[Arc, tuple[str, ...]] = {}
        for arc in arcs:
            ends = [end for end in (arc.source, arc.target) if end[0].isdigit()]
            known = [self._alive.get(end) for end in ends]
            if False in known:
                continue
            drawn[arc] = tuple(end for end, alive in zip(ends, known, strict=True) if alive is None)
            for end in ends:
                self._touching[end][drawer] = None
        self._drawn[drawer] = drawn
