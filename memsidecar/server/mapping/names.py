"""Resource names: what the outside calls a memory, a session, a conflict or a job."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from memsidecar.domain import limits
from memsidecar.domain.scope import Partition, Scope, parse_name, resource_name
from memsidecar.server.validation import Violations
from memsidecar.server.validation.rules import identifier
from memsidecar.v1 import scope_pb2

Collection: TypeAlias = Literal["memories", "sessions", "conflicts", "jobs"]

_NOUNS: Final = {"memories": "memory", "sessions": "session", "conflicts": "conflict", "jobs": "job"}
_ID: Final = identifier(limits.MAX_ID_CHARS)
# Ids that percent-encoding leaves as they are: all that this server gives out.
_PLAIN: Final = re.compile(r"[A-Za-z0-9._~-]+").fullmatch


def read_scope(scope: scope_pb2.Scope, default_namespace: str) -> Scope:
    return Scope(scope.namespace or default_namespace, scope.user, scope.agent, scope.session)


def name_of(partition: Partition, collection: Collection, resource_id: str) -> str:
    """The resource's name; "" for no resource."""
    if not resource_id:
        return ""
    if _PLAIN(resource_id):
        return _prefix(partition, collection) + resource_id
    return resource_name(partition, collection, resource_id)


def names_of(partition: Partition, resource_ids: Iterable[str]) -> list[str]:
    return [name_of(partition, "memories", resource_id) for resource_id in resource_ids]


@lru_cache(maxsize=4096)
def _prefix(partition: Partition, collection: Collection) -> str:
    return resource_name(partition, collection, "x")[:-1]


def read_name(name: str, collection: Collection, path: str, violations: Violations) -> tuple[Partition, str]:
    """(partition, id). A name that is not one is a violation of `path`, and the answer then has no meaning."""
    parsed = parse_name(name, collection)
    if parsed is None or any(map(_ID, (parsed[0].namespace, parsed[0].user, parsed[1]))):
        noun = _NOUNS[collection]
        violations.add(
            path,
            f"must be the name of a {noun}: namespaces/{{namespace}}/users/{{user}}/{collection}/{{{noun}}}, or "
            "without the user; segments percent-encoded",
        )
        return Partition(""), ""
    return parsed


class References:
    """Reads names that stand inside a memory or a question: all must be memories of one partition."""

    __slots__ = ("_partition", "_violations")

    def __init__(self, partition: Partition, violations: Violations) -> None:
        self._partition = partition
        self._violations = violations

    def one(self, name: str, path: str) -> str:
        """The id; "" for an empty name."""
        if not name:
            return ""
        before = len(self._violations.found)
        partition, memory_id = read_name(name, "memories", path, self._violations)
        if partition != self._partition and len(self._violations.found) == before:
            self._violations.add(path, f"must be of {self._partition.name}, as the request is")
        return memory_id

    def many(self, names: Iterable[str], path: str) -> tuple[str, ...]:
        """The ids, repeats left out."""
        ids: dict[str, None] = {}
        for index, name in enumerate(names):
            if not name:
                self._violations.add(f"{path}[{index}]", "is required")
            ids[self.one(name, f"{path}[{index}]")] = None
        return tuple(ids)
