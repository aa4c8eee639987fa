"""Primary keys that no two memories can share, whatever their namespaces, users and ids contain."""

from __future__ import annotations

from memsidecar.domain.scope import Partition


def partition_key(partition: Partition) -> str:
    """Unique for each partition: the length says where the namespace ends, so no separator can be forged."""
    return f"{len(partition.namespace)}:{partition.namespace}{partition.user}"


def memory_key(partition: str, memory_id: str) -> str:
    """Unique for each memory of all partitions; `partition` is a partition key."""
    return f"{len(partition)}:{partition}{memory_id}"
