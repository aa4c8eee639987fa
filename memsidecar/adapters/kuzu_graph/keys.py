"""Primary keys that no two memories can share, whatever their namespaces, users and ids contain."""

from __future__ import annotations

from memsidecar.domain.scope import Partition


def partition_key(partition: Partition) -> str:
    """Unique for each partition: the length says where the namespace ends, so no separator can be forged."""
    return f"{len(partition.namespace)}:{partition.namespace}{partition.user}"


def memory_key(partition: str, memory_id: str) -> str:
    """Unique for each memory of all partitions; `partition` is a partition key."""
    return f"{len(partition)}:{partition}{memory_id}"


# An end of an edge is a memory's key, which begins with a digit, or one of these before the key of another table.
_USER, _CONFLICT = "u", "c"


def user_end(partition: str) -> str:
    return _USER + partition


def conflict_end(key: str) -> str:
    return _CONFLICT + key


def is_user(end: str) -> bool:
    return end.startswith(_USER)


def is_conflict(end: str) -> bool:
    return end.startswith(_CONFLICT)


def bare_key(end: str) -> str:
    """The primary key of an end in its own table."""
    return end[1:] if is_user(end) or is_conflict(end) else end
