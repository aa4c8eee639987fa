from __future__ import annotations

import pytest

from memsidecar.domain.draft import Request
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.feedback import Verdict
from memsidecar.domain.feedback_rules import Judged
from memsidecar.domain.memory import Fact, Memory
from memsidecar.domain.recall import Hit, Recalled, Tier
from memsidecar.domain.revision import revision_token
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.usage import Usage
from memsidecar.v1 import memory_pb2, memory_service_pb2, scope_pb2
from memsidecar.v1 import recall_service_pb2 as pb
from tests.server.api import Api, refused
from tests.server.conftest import HOME
from tests.server.fakes import NOW, World

ANN = scope_pb2.Scope(user="ann", agent="planner")
M1 = "namespaces/home/users/ann/memories/m1"
E1 = "namespaces/home/users/ann/memories/e1"
ID = "6f7c3a52-6a5e-4b52-9d0b-0c9a1f6e2b11"


def item(memory: str, kind: pb.FeedbackKind.ValueType = pb.FEEDBACK_KIND_USED) -> pb.FeedbackItem:
    return pb.FeedbackItem(memory=memory, kind=kind)


async def test_every_verdict_arrives_with_its_memory(api: Api, world: World) -> None:
    request = pb.FeedbackRequest(scope=ANN, items=[item(M1), item(E1, pb.FEEDBACK_KIND_WRONG)], request_id=ID)
    response = await api.recall.Feedback(request)
    assert response.revision.token == revision_token(HOME, 9)
    ((_, scope, judged, asked),) = world.calls
    assert scope == Scope("home", "ann", "planner")
    assert judged == (Judged("m1", Verdict.USED, "items[0].memory"), Judged("e1", Verdict.WRONG, "items[1].memory"))
    assert isinstance(asked, Request)
    assert (asked.request_id, asked.actor) == (ID, "planner")
    assert asked.digest


async def test_shared_memory_is_judged_in_its_own_scope(api: Api, world: World) -> None:
    shared = "namespaces/home/memories/s1"
    refusal = await refused(api.recall.Feedback(pb.FeedbackRequest(scope=ANN, items=[item(M1), item(shared)])))
    assert list(refusal.fields) == ["items[1].memory"]
    await api.recall.Feedback(pb.FeedbackRequest(items=[item(shared)]))
    assert world.calls[-1][1] == Scope("home")


@pytest.mark.parametrize(
    ("items", "field"),
    [
        ([], "items"),
        ([pb.FeedbackItem(memory=M1)], "items[0].kind"),
        ([pb.FeedbackItem(kind=pb.FEEDBACK_KIND_USED)], "items[0].memory"),
        ([item(M1), item(M1, pb.FEEDBACK_KIND_WRONG)], "items[1].memory"),
        ([item("namespaces/home/users/ben/memories/m1")], "items[0].memory"),
        ([item("namespaces/away/users/ann/memories/m1")], "items[0].memory"),
        ([item("namespaces/home/users/ann/sessions/s1")], "items[0].memory"),
        ([item("m1")], "items[0].memory"),
        ([item(f"namespaces/home/users/ann/memories/m{n}") for n in range(257)], "items"),
    ],
)
async def test_a_wrong_item_is_named(api: Api, world: World, items: list[pb.FeedbackItem], field: str) -> None:
    refusal = await refused(api.recall.Feedback(pb.FeedbackRequest(scope=ANN, items=items)))
    assert (refusal.reason, list(refusal.fields)) == ("INVALID_FIELD", [field])
    assert world.calls == []


async def test_an_unknown_memory_is_named(api: Api, world: World) -> None:
    world.failures["feedback"] = InvalidField("items[0].memory", "does not exist")
    refusal = await refused(api.recall.Feedback(pb.FeedbackRequest(scope=ANN, items=[item(M1)])))
    assert refusal.fields == {"items[0].memory": "does not exist"}


async def test_a_memory_tells_how_it_is_used_wherever_it_is_read(api: Api, world: World) -> None:
    world.usages[HOME, "m1"] = Usage(3, NOW + 5_000_000, -0.25)
    hit = Hit(HOME, world.memories[HOME, "m1"], 0.5, Tier.VECTOR)
    world.events = [Recalled((hit,), (), 1, 0.5)]
    once = await api.recall.RecallOnce(pb.RecallOnceRequest(scope=ANN, query=pb.Query(text="q")))
    streamed = [e async for e in api.recall.Recall(pb.RecallRequest(scope=ANN, query=pb.Query(text="q")))]
    got = await api.memory.GetMemory(memory_service_pb2.GetMemoryRequest(name=M1))
    many = await api.memory.BatchGetMemories(memory_service_pb2.BatchGetMemoriesRequest(names=[M1]))
    listed = await api.memory.ListMemories(memory_service_pb2.ListMemoriesRequest(scope=ANN))
    for memory in (once.hits[0].memory, got.memory, many.memories[0], listed.memories[0]):
        assert (memory.access_count, memory.usefulness) == (3, -0.25)
        assert memory.last_access_time.seconds == NOW // 1_000_000 + 5
    assert all(event.hit.memory.access_count == 3 for event in streamed if event.HasField("hit"))


async def test_the_use_of_a_hit_is_not_kept_with_its_message(api: Api, world: World) -> None:
    """Messages of memories that are recalled again are copied."""
    memory = Memory("again", Scope("home", "ann"), Fact("tea"), NOW, NOW)
    world.events = [Recalled((Hit(HOME, memory, 0.5, Tier.VECTOR),), (), 1, 0.5)]
    seen = []
    for usage in (Usage(1, NOW, 0.5), Usage(2, NOW, 0.0), Usage()):
        world.usages[HOME, "again"] = usage
        answer = await api.recall.RecallOnce(pb.RecallOnceRequest(scope=ANN, query=pb.Query(text="q")))
        found: memory_pb2.Memory = answer.hits[0].memory
        seen.append((found.access_count, found.usefulness, found.HasField("last_access_time")))
    assert seen == [(1, 0.5, True), (2, 0.0, True), (0, 0.0, False)]


async def test_a_state_of_the_past_has_no_use(api: Api, world: World) -> None:
    world.usages[Partition("home", "ann"), "m1"] = Usage(3, NOW, 0.5)
    request = memory_service_pb2.ListMemoryRevisionsRequest(parent=M1, page_size=1)
    answer = await api.memory.ListMemoryRevisions(request)
    assert answer.revisions[0].snapshot.access_count == 0
