"""Memories by name, and lists that arrive in pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from memsidecar_client import (
    AsyncMemsidecar,
    Fact,
    Filter,
    Memory,
    MemoryChange,
    MemoryKind,
    MemoryOrder,
)
from memsidecar_client.v1 import memory_service_pb2 as pb

from tests.clients.python.fake_sidecar import FakeSidecar, made

STORED = {"name": "namespaces/acme/users/ana/memories/m", "fact": {"statement": "Ana drinks tea"}, "etag": "2"}


def pages_of_two(request: pb.ListMemoriesRequest) -> pb.ListMemoriesResponse:
    start = int(request.page_token or 0)
    memories = [{"name": f"m{n}", "fact": {"statement": "x"}} for n in range(start, min(start + 2, 5))]
    return made(pb.ListMemoriesResponse, memories=memories, next_page_token=str(start + 2) if start < 4 else "")


async def test_list_goes_on_to_the_last_page(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["ListMemories"] = pages_of_two
    listed = client.list_memories(
        Filter(kinds=(MemoryKind.FACT,)), order=MemoryOrder.NEWEST_FIRST, page_size=2, session="s"
    )
    assert [memory.name async for memory in listed] == ["m0", "m1", "m2", "m3", "m4"]
    assert [memory.name async for memory in listed] == []
    requests = [call.request for call in fake.calls["ListMemories"]]
    assert [request.page_token for request in requests] == ["", "2", "4"]
    assert all(request.page_size == 2 and request.order == 2 and request.scope.session == "s" for request in requests)
    assert all(list(request.filter.kinds) == [1] for request in requests)


async def test_list_makes_a_call_when_a_page_is_reached(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["ListMemories"] = pages_of_two
    listed = client.list_memories()
    assert not fake.calls
    await anext(listed)
    assert len(fake.calls["ListMemories"]) == 1
    assert await listed.next_page() is not None
    assert len(fake.calls["ListMemories"]) == 2


async def test_empty_page_is_not_the_end(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["ListMemories"] = lambda request: made(
        pb.ListMemoriesResponse,
        memories=[STORED] if request.page_token else [],
        next_page_token="" if request.page_token else "more",
    )
    assert len([memory async for memory in client.list_memories()]) == 1


async def test_create_sends_the_memory_and_gives_it_with_its_revision(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    fake.answers["CreateMemory"] = made(pb.CreateMemoryResponse, memory=STORED, revision={"token": "r1"})
    written = await client.create_memory(Memory(Fact("x"), importance=1.0), memory_id="m", embedding=[1.0])
    request = fake.only("CreateMemory")
    assert (request.memory.importance, request.memory_id, list(request.embedding.values)) == (1.0, "m", [1.0])
    assert (written.memory.etag, written.memory.text, written.revision) == ("2", "Ana drinks tea", "r1")


async def test_get_memories_keeps_the_order(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["BatchGetMemories"] = lambda request: made(
        pb.BatchGetMemoriesResponse, memories=[{"name": name} for name in request.names]
    )
    assert [memory.name for memory in await client.get_memories(["b", "a"])] == ["b", "a"]


async def test_update_sends_etag_and_mask(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["GetMemory"] = made(pb.GetMemoryResponse, memory=STORED)
    memory = await client.get_memory(str(STORED["name"]))
    await client.update_memory(replace(memory, importance=0.5), fields=["importance"], reason="asked")
    await client.update_memory(memory)
    masked, plain = (call.request for call in fake.calls["UpdateMemory"])
    assert (masked.memory.name, masked.memory.etag, masked.reason) == (STORED["name"], "2", "asked")
    assert list(masked.update_mask.paths) == ["importance"]
    assert not plain.HasField("update_mask")


async def test_purge_gives_no_memory_back(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["DeleteMemory"] = made(pb.DeleteMemoryResponse, revision={"token": "r3"})
    deleted = await client.delete_memory("n", purge=True, etag="2", reason="asked")
    assert deleted.memory is None
    assert deleted.revision == "r3"
    request = fake.only("DeleteMemory")
    assert (request.purge, request.etag, request.reason) == (True, "2", "asked")


async def test_history_knows_a_purged_snapshot(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    at = datetime(2026, 5, 1, tzinfo=UTC)
    fake.answers["ListMemoryRevisions"] = made(
        pb.ListMemoryRevisionsResponse,
        revisions=[
            {
                "name": "n/revisions/2",
                "change": 6,
                "create_time": {"seconds": int(at.timestamp())},
                "actor": "a",
                "reason": "r",
            },
            {"name": "n/revisions/1", "change": 99, "snapshot": STORED},
        ],
    )
    purged, first = [revision async for revision in client.memory_history("n")]
    assert (purged.change, purged.create_time, purged.snapshot) == (MemoryChange.PURGED, at, None)
    assert first.snapshot is not None
    assert first.snapshot.text == "Ana drinks tea"
    assert str(first.change) == "UNRECOGNIZED_99"
