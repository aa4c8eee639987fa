from __future__ import annotations

import uuid

import grpc
import pytest

from memsidecar.domain import limits
from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.errors import NotFound
from memsidecar.domain.memory import Episode, Fact, Kind, Memory, Preference, Provenance
from memsidecar.domain.scope import Scope
from memsidecar.services.remember import Wait
from memsidecar.v1 import memory_pb2, scope_pb2
from memsidecar.v1 import memory_service_pb2 as pb
from tests.server.api import Api, refused
from tests.server.conftest import HOME
from tests.server.fakes import NOW, World

M1 = "namespaces/home/users/ann/memories/m1"
E1 = "namespaces/home/users/ann/memories/e1"
ANN = scope_pb2.Scope(user="ann", agent="bot", session="s1")


def draft_of(world: World) -> Draft:
    _, _, (draft, *_), _, _ = next(call for call in world.calls if call[0] == "remember")
    assert isinstance(draft, Draft)
    return draft


def patch_of(world: World) -> Patch:
    patch = world.calls[-1][3]
    assert isinstance(patch, Patch)
    return patch


async def test_text_becomes_an_episode_of_the_default_namespace(api: Api, world: World) -> None:
    item = pb.RememberItem(text="I moved to Lisbon", speaker="Ann", entities=["Lisbon"])
    item.time.FromMicroseconds(5)
    item.embedding.values.extend([3.0, 4.0])
    request = pb.RememberRequest(scope=ANN, item=item, options=pb.RememberOptions(labels={"a": "b"}))
    response = await api.memory.Remember(request)
    _, scope, _, wait, sent_request = world.calls[0]
    assert scope == Scope("home", "ann", "bot", "s1")
    assert wait is Wait.SEARCHABLE
    assert sent_request == Request(actor="bot")
    draft = draft_of(world)
    assert draft.body == Episode("I moved to Lisbon", speaker="Ann", start_time=5)
    assert draft.source == Provenance(session="s1", agent="bot", speaker="Ann", time=5)
    assert (draft.path, draft.entity_names, dict(draft.labels)) == ("item", ("Lisbon",), {"a": "b"})
    assert draft.embedding is not None
    assert draft.embedding.rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    [outcome] = response.outcomes
    assert outcome.action == pb.REMEMBER_ACTION_CREATED
    assert outcome.memory.name == "namespaces/home/users/ann/memories/m2"
    assert response.revision.token


async def test_typed_memory_keeps_its_own_agent_and_adds_the_labels(api: Api, world: World) -> None:
    memory = memory_pb2.Memory(
        preference=memory_pb2.Preference(statement="likes oat milk", subject=E1, polarity=1),
        scope=scope_pb2.Scope(agent="other"),
        labels={"k": "own"},
        mentions=[E1, E1],
        provenance=[memory_pb2.Provenance(document="d", derived_memories=[M1])],
    )
    memory.ttl.FromSeconds(60)
    options = pb.RememberOptions(wait=pb.WRITE_WAIT_DURABLE, labels={"k": "v", "x": "y"})
    await api.memory.Remember(pb.RememberRequest(scope=ANN, item=pb.RememberItem(memory=memory), options=options))
    draft = draft_of(world)
    assert draft.body == Preference("likes oat milk", polarity=1, subject="e1")
    assert (draft.agent, draft.session, draft.mentions) == ("other", "s1", ("e1",))
    assert dict(draft.labels) == {"k": "own", "x": "y"}
    assert draft.expires_at == NOW + 60_000_000
    assert draft.source == Provenance(session="s1", agent="other", document="d", derived_from=("m1",))
    assert world.calls[0][3] is Wait.DURABLE


async def test_repeating_a_request_gives_the_service_the_same_digest(api: Api, world: World) -> None:
    request_id = str(uuid.uuid4())
    for spelling in (request_id, request_id.upper()):
        await api.memory.Remember(pb.RememberRequest(scope=ANN, item=pb.RememberItem(text="x"), request_id=spelling))
    await api.memory.Remember(pb.RememberRequest(scope=ANN, item=pb.RememberItem(text="y"), request_id=request_id))
    first, second, other = (call[4] for call in world.calls)
    assert first == second
    assert first.request_id == request_id
    assert first.digest != other.digest


async def test_every_violation_of_a_request_is_named(api: Api) -> None:
    item = pb.RememberItem(memory=memory_pb2.Memory(fact=memory_pb2.Fact(predicate="a\0b"), confidence=2), speaker=" x")
    refusal = await refused(
        api.memory.Remember(pb.RememberRequest(scope=scope_pb2.Scope(user="\n"), item=item, request_id="no"))
    )
    assert refusal.reason == "INVALID_FIELD"
    assert set(refusal.fields) == {
        "scope.user",
        "item.memory.fact.predicate",
        "item.memory.fact.statement",
        "item.memory.confidence",
        "item.speaker",
        "request_id",
    }


async def test_reference_to_another_partition_is_refused(api: Api) -> None:
    fact = memory_pb2.Fact(statement="s", subject="namespaces/home/users/bob/memories/e1")
    item = pb.RememberItem(memory=memory_pb2.Memory(fact=fact, mentions=[M1.replace("home", "away")]))
    refusal = await refused(api.memory.Remember(pb.RememberRequest(scope=ANN, item=item)))
    assert set(refusal.fields) == {"item.memory.fact.subject", "item.memory.mentions[0]"}


async def test_batch_gives_each_item_its_own_result(api: Api, world: World) -> None:
    world.item_errors[1] = NotFound("entity")
    items = [pb.RememberItem(text="a"), pb.RememberItem(), pb.RememberItem(text="b"), pb.RememberItem(text="\0")]
    response = await api.memory.BatchRemember(pb.BatchRememberRequest(scope=ANN, items=items))
    assert [r.index for r in response.results] == [0, 1, 2, 3]
    assert [r.error.code for r in response.results] == [0, 3, 5, 3]
    assert "items[1]: takes one of" in response.results[1].error.message
    assert response.results[0].outcomes[0].memory.episode.text == "a"
    assert [d.path for d in world.calls[0][2]] == ["items[0]", "items[2]"]


async def test_batch_answer_fits_a_message(api: Api) -> None:
    items = [pb.RememberItem(text=chr(97 + i) * 500_000) for i in range(8)]
    response = await api.memory.BatchRemember(pb.BatchRememberRequest(scope=ANN, items=items))
    assert response.ByteSize() < limits.MAX_MESSAGE_BYTES
    assert all(result.outcomes[0].memory.name for result in response.results)


async def test_too_many_items_are_refused_as_a_whole(api: Api) -> None:
    items = [pb.RememberItem(text="a")] * 257
    refusal = await refused(api.memory.BatchRemember(pb.BatchRememberRequest(scope=ANN, items=items)))
    assert set(refusal.fields) == {"items"}


async def test_create_get_delete_undelete(api: Api, world: World) -> None:
    memory = memory_pb2.Memory(fact=memory_pb2.Fact(statement="s", text="Lisbon"))
    memory.attributes.update({"a": [1, 2.5, None, {"b": "c"}]})
    embedding = memory_pb2.Embedding(values=[0, 1])
    created = await api.memory.CreateMemory(
        pb.CreateMemoryRequest(scope=ANN, memory=memory, memory_id="mine", embedding=embedding)
    )
    assert created.memory.name == "namespaces/home/users/ann/memories/mine"
    assert world.calls[0][2].attributes == '{"a":[1,2.5,null,{"b":"c"}]}'
    name = created.memory.name
    assert (await api.memory.GetMemory(pb.GetMemoryRequest(name=name))).memory == created.memory
    deleted = await api.memory.DeleteMemory(pb.DeleteMemoryRequest(name=name))
    assert deleted.memory.HasField("purge_time")
    purged = await api.memory.DeleteMemory(pb.DeleteMemoryRequest(name=name, purge=True, etag="1", reason="r"))
    assert not purged.HasField("memory")
    assert (await api.memory.UndeleteMemory(pb.UndeleteMemoryRequest(name=name))).memory.name == name
    again = await refused(api.memory.CreateMemory(pb.CreateMemoryRequest(scope=ANN, memory=memory, memory_id="mine")))
    assert (again.code, again.metadata) == (grpc.StatusCode.ALREADY_EXISTS, {"resource": name})


@pytest.mark.parametrize(
    ("memory", "mask", "changes", "kind"),
    [
        ({"importance": 0.9}, None, {"importance": 0.9}, None),
        ({}, ["importance", "labels", "expire_time"], {"importance": 0.5, "labels": {}, "expires_at": None}, None),
        ({"fact": {"statement": "s"}}, None, {"statement": "s"}, Kind.FACT),
        (
            {"fact": {"text": "t"}},
            ["fact.text"],
            {"object_text": "t", "object_entity": "", "object_value": ""},
            Kind.FACT,
        ),
        ({"fact": {}}, ["fact.predicate"], {"predicate": ""}, Kind.FACT),
        ({}, ["fact.entity"], {"object_entity": ""}, Kind.FACT),
        ({"episode": {"participants": [E1]}}, None, {"participants": ("e1",)}, Kind.EPISODE),
        ({"name": M1, "etag": "7", "state": 1, "confidence": 1}, None, {"confidence": 1.0}, None),
    ],
)
async def test_update_changes_what_the_mask_names(
    api: Api, world: World, memory: dict[str, object], mask: list[str] | None, changes: object, kind: Kind | None
) -> None:
    request = pb.UpdateMemoryRequest(memory=memory_pb2.Memory(**{"name": M1, **memory}))
    if mask is not None:
        request.update_mask.paths.extend(mask)
    await api.memory.UpdateMemory(request)
    patch = patch_of(world)
    assert dict(patch.changes) == changes
    assert (patch.kind, patch.etag, patch.path) == (kind, memory.get("etag", ""), "memory")


async def test_update_with_a_star_replaces_everything(api: Api, world: World) -> None:
    memory = memory_pb2.Memory(name=M1, procedure=memory_pb2.Procedure(statement="s"), labels={"a": "b"})
    request = pb.UpdateMemoryRequest(memory=memory)
    request.update_mask.paths.append("*")
    await api.memory.UpdateMemory(request)
    changes = patch_of(world).changes
    assert changes["statement"] == "s"
    assert changes["steps"] == ()
    assert changes["labels"] == {"a": "b"}
    assert changes["importance"] == 0.5
    assert changes["expires_at"] is None


@pytest.mark.parametrize(
    ("memory", "mask", "field"),
    [
        ({}, None, "update_mask"),
        ({}, ["nonsense"], "update_mask.paths[0]"),
        ({}, ["labels", "create_time"], "update_mask.paths[1]"),
        ({}, ["provenance"], "update_mask.paths[0]"),
        ({}, ["entity.discovered"], "update_mask.paths[0]"),
        ({}, ["fact.statement"], "memory.fact.statement"),
        ({"fact": {"statement": " "}}, ["fact.statement"], "memory.fact.statement"),
        ({"fact": {"statement": "s"}}, ["episode.text"], "update_mask"),
        ({}, ["episode.title", "fact.predicate"], "update_mask"),
        ({"name": "namespaces/home/users/ann/sessions/s", "importance": 1}, None, "memory.name"),
        ({"mentions": [M1.replace("ann", "bob")]}, None, "memory.mentions[0]"),
    ],
)
async def test_update_that_makes_no_sense_is_refused(
    api: Api, memory: dict[str, object], mask: list[str] | None, field: str
) -> None:
    request = pb.UpdateMemoryRequest(memory=memory_pb2.Memory(**{"name": M1, **memory}))
    if mask is not None:
        request.update_mask.paths.extend(mask)
    refusal = await refused(api.memory.UpdateMemory(request))
    assert field in refusal.fields


async def test_pages_go_through_a_list_once(api: Api, world: World) -> None:
    for i in range(5):
        world.memories[HOME, f"x{i}"] = Memory(f"x{i}", Scope("home", "ann"), Fact("s"), NOW, NOW)
    request = pb.ListMemoriesRequest(scope=ANN, page_size=3)
    seen: list[str] = []
    while True:
        response = await api.memory.ListMemories(request)
        seen += [m.name for m in response.memories]
        if not response.next_page_token:
            break
        request.page_token = response.next_page_token
    assert len(seen) == len(set(seen)) == 7
    other = pb.ListMemoriesRequest(scope=ANN, page_token=request.page_token, order=pb.MEMORY_ORDER_NEWEST_FIRST)
    assert set((await refused(api.memory.ListMemories(other))).fields) == {"page_token"}
    request.page_size = 1
    assert (await api.memory.ListMemories(request)).memories


async def test_page_ends_early_by_its_bytes(api: Api, world: World) -> None:
    for i in range(6):
        world.memories[HOME, f"x{i}"] = Memory(f"x{i}", Scope("home", "ann"), Fact("s" * 500_000), NOW, NOW)
    request, names = pb.ListMemoriesRequest(scope=ANN), []
    while True:
        response = await api.memory.ListMemories(request)
        assert response.ByteSize() <= limits.MAX_PAGE_BYTES + 1000
        names += [m.name for m in response.memories]
        if not response.next_page_token:
            break
        request.page_token = response.next_page_token
    assert len(names) == 8


async def test_batch_get_is_all_of_one_namespace_and_fits_a_message(api: Api, world: World) -> None:
    response = await api.memory.BatchGetMemories(pb.BatchGetMemoriesRequest(names=[E1, M1]))
    assert [m.name for m in response.memories] == [E1, M1]
    mixed = pb.BatchGetMemoriesRequest(names=[E1, "namespaces/away/memories/m"])
    assert set((await refused(api.memory.BatchGetMemories(mixed))).fields) == {"names[1]"}
    world.memories[HOME, "big"] = Memory("big", Scope("home", "ann"), Fact("s" * 500_000), NOW, NOW)
    many = pb.BatchGetMemoriesRequest(names=[M1.replace("m1", "big")] * 10)
    assert set((await refused(api.memory.BatchGetMemories(many))).fields) == {"names"}


async def test_history_pages_backwards(api: Api) -> None:
    request, revisions = pb.ListMemoryRevisionsRequest(parent=M1, page_size=3), []
    while True:
        response = await api.memory.ListMemoryRevisions(request)
        revisions += [int(r.name.rsplit("/", 1)[1]) for r in response.revisions]
        if not response.next_page_token:
            break
        request.page_token = response.next_page_token
    assert revisions == [7, 6, 5, 4, 3, 2, 1]


async def test_info_says_the_limits(api: Api) -> None:
    from memsidecar.v1.info_service_pb2 import GetServerInfoRequest

    info = await api.info.GetServerInfo(GetServerInfoRequest())
    assert (info.max_message_bytes, info.default_namespace) == (limits.MAX_MESSAGE_BYTES, "home")
