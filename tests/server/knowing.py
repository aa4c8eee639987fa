"""What contradicts what, told over the API."""

from __future__ import annotations

from typing import Any

from memsidecar.v1 import conflict_pb2, knowledge_service_pb2, memory_pb2, memory_service_pb2
from tests.server.api import Api

# Fields are given as plain dicts.
pb: Any = knowledge_service_pb2
memories_pb: Any = memory_service_pb2

SCOPE = {"namespace": "acme", "user": "ann"}
DAY = 24 * 3600
OPEN, RESOLVED = conflict_pb2.CONFLICT_STATE_OPEN, conflict_pb2.CONFLICT_STATE_RESOLVED


def fact(value: str, attribute: str = "lives_in", since: int | None = None, **more: Any) -> memory_pb2.Memory:
    """`since` is in days after 1970."""
    made: Any = memory_pb2.Memory
    memory: memory_pb2.Memory = made(
        fact={"statement": f"{attribute}: {value}", "predicate": attribute, "text": value}, **more
    )
    if since is not None:
        memory.valid_start_time.seconds = since * DAY
    return memory


async def tell(
    api: Api,
    value: str,
    attribute: str = "lives_in",
    since: int | None = None,
    policy: int = 0,
    request_id: str = "",
    scope: dict[str, str] | None = None,
) -> Any:
    """The outcome of remembering a fact."""
    response = await api.memory.Remember(
        memories_pb.RememberRequest(
            scope=scope or SCOPE,
            item={"memory": fact(value, attribute, since)},
            options={"conflict_policy": policy},
            request_id=request_id,
        )
    )
    return response.outcomes[0]


async def dispute(api: Api, *values: str, attribute: str = "lives_in", policy: int = 3) -> Any:
    """An open conflict between values, said a day apart."""
    told = [await tell(api, value, attribute, 100 + day, policy) for day, value in enumerate(values)]
    found = await api.knowledge.GetConflict(pb.GetConflictRequest(name=told[-1].conflicts[0]))
    return found.conflict


async def conflicts(api: Api, **asked: Any) -> list[Any]:
    """All pages."""
    request = pb.ListConflictsRequest(scope=SCOPE, **asked)
    found: list[Any] = []
    while True:
        response = await api.knowledge.ListConflicts(request)
        found += list(response.conflicts)
        if not response.next_page_token:
            return found
        request.page_token = response.next_page_token


async def history(api: Api, **asked: Any) -> list[str]:
    """What a slot held, as text."""
    response = await api.knowledge.ListSlotHistory(pb.ListSlotHistoryRequest(scope=SCOPE, **asked))
    return [value.memory.fact.text for value in response.values]


async def resolve(api: Api, name: str, **how: Any) -> Any:
    return await api.knowledge.ResolveConflict(pb.ResolveConflictRequest(name=name, **how))


def when(valid: float | None = None, known: float | None = None) -> memory_pb2.AsOf:
    """`valid` in days after 1970, `known` in seconds."""
    as_of = memory_pb2.AsOf()
    if valid is not None:
        as_of.valid_time.seconds = int(valid * DAY)
    if known is not None:
        as_of.record_time.seconds, as_of.record_time.nanos = int(known), int(known % 1 * 1e9)
    return as_of


def states(response: Any) -> dict[str, str]:
    """Value -> state of the memories of an answer."""
    return {
        memory.fact.text: memory_pb2.MemoryState.Name(memory.state).removeprefix("MEMORY_STATE_")
        for memory in response.memories
    }
