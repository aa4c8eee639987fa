"""Who a memory is about, and the names that resources carry outside."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

# Kept literal in names because e-mail addresses and common id schemes use them; everything else is percent-encoded,
# so that a name can always be split on "/" and gives back exactly the segment that went in.
_SAFE = "@:.~-_+=,"


@dataclass(frozen=True, slots=True)
class Partition:
    """(namespace, user): the unit of order, isolation, vector index, eviction and erasure.

    An empty user is the namespace's shared partition (team knowledge), never "all users".
    """

    namespace: str
    user: str = ""

    @property
    def name(self) -> str:
        """`namespaces/{n}/users/{u}`, or `namespaces/{n}` for the shared partition; segments percent-encoded."""
        head = "namespaces/" + quote(self.namespace, safe=_SAFE)
        return f"{head}/users/{quote(self.user, safe=_SAFE)}" if self.user else head


@dataclass(frozen=True, slots=True)
class Scope:
    """Namespace and user choose the partition; agent and session narrow inside it. Empty means wider."""

    namespace: str
    user: str = ""
    agent: str = ""
    session: str = ""

    @property
    def partition(self) -> Partition:
        return Partition(self.namespace, self.user)


def resource_name(partition: Partition, collection: str, resource_id: str) -> str:
    """The name of a resource in a partition, for example `namespaces/n/users/u/memories/m`."""
    return f"{partition.name}/{collection}/{quote(resource_id, safe=_SAFE)}"


def parse_partition(name: str) -> Partition | None:
    """The partition of a name as `Partition.name` gives it, or None."""
    parts = name.split("/")
    user = _segment(parts[3]) if len(parts) == 4 and parts[2] == "users" else ""
    partition = Partition(_segment(parts[1]) if len(parts) > 1 else "", user)
    return partition if partition.namespace and partition.name == name else None


def parse_name(name: str, collection: str) -> tuple[Partition, str] | None:
    """(partition, id) of a name of that collection, or None when it is not one in canonical form."""
    parts = name.split("/")
    if len(parts) == 6 and parts[0] == "namespaces" and parts[2] == "users" and parts[4] == collection:
        partition, last = Partition(_segment(parts[1]), _segment(parts[3])), _segment(parts[5])
        valid = bool(partition.namespace and partition.user and last)
    elif len(parts) == 4 and parts[0] == "namespaces" and parts[2] == collection:
        partition, last = Partition(_segment(parts[1])), _segment(parts[3])
        valid = bool(partition.namespace and last)
    else:
        return None
    # A second spelling of one name (an encoded letter, lower-case hex) would let two names mean one resource.
    return (partition, last) if valid and resource_name(partition, collection, last) == name else None


def _segment(encoded: str) -> str:
    try:
        decoded = unquote(encoded, errors="strict")
        decoded.encode()
    except UnicodeError:  # bytes that are no UTF-8, or a lone surrogate: no name has one
        return ""
    return decoded
