"""Many changes folded into what has to be done to the graph, before the engine sees any of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memsidecar.adapters.kuzu_graph.keys import memory_key, partition_key
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.ports.graph import GraphChange


@dataclass(frozen=True, slots=True)
class Put:
    """The last state of a memory in a batch; `partition` is a partition key."""

    partition: str
    memory: Memory


@dataclass(slots=True)
class Batch:
    """The outcome of changes: memories by key to purge first, then those to put. Positions up to `last` are in it."""

    last: int
    partitions: dict[str, Partition] = field(default_factory=dict)
    purges: dict[str, str] = field(default_factory=dict)
    puts: dict[str, Put] = field(default_factory=dict)


def fold(changes: Sequence[GraphChange], applied: int) -> Batch:
    """Changes after position `applied` as one batch; earlier ones are in the graph already and would set it back.

    The last put of a memory wins. A memory that is purged and put again loses the edges to it, as it would one by one.
    """
    batch = Batch(applied)
    keys: dict[Partition, str] = {}
    for change in changes:
        if change.position <= applied:
            continue
        batch.last = max(batch.last, change.position)
        delta = change.delta
        if delta.put is None and not delta.purged:
            continue
        partition = keys.get(change.partition)
        if partition is None:
            partition = keys[change.partition] = partition_key(change.partition)
        key = memory_key(partition, delta.subject)
        if delta.purged:
            batch.puts.pop(key, None)
            batch.purges[key] = partition
        if delta.put is not None:
            batch.partitions[partition] = change.partition
            batch.puts[key] = Put(partition, delta.put)
    return batch
