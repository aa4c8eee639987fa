"""Conflicts, slots and entities over the API, on the real parts."""

from __future__ import annotations

import time
import uuid
from typing import Any

import grpc
import pytest

from memsidecar.v1 import (
    conflict_pb2,
    error_reason_pb2,
    knowledge_service_pb2,
    memory_pb2,
    memory_service_pb2,
    recall_service_pb2,
)
from tests.server.api import Api, refused
from tests.server.knowing import OPEN, RESOLVED, SCOPE, conflicts, dispute, fact, history, resolve, states, tell, when

# Fields are given as plain dicts.
pb: Any = knowledge_service_pb2
memories_pb: Any = memory_service_pb2
recall_pb: Any = recall_service_pb2


@pytest.fixture
def real(line: grpc.aio.Channel) -> Api:
    return Api(line)


async def test_a_move_supersedes_and_says_so(real: Api) -> None:
    rome = await tell(real, "Rome", since=100)
    oslo = await tell(real, "Oslo", since=200)
    assert oslo.action == memories_pb.REMEMBER_ACTION_SUPERSEDED
    assert list(oslo.superseded_memories) == [rome.memory.name]
    (name,) = oslo.conflicts
    found = await real.knowledge.GetConflict(pb.GetConflictRequest(name=name))
    conflict = found.conflict
    assert conflict.state == RESOLVED
    assert conflict.resolution == conflict_pb2.CONFLICT_RESOLUTION_CHANGED
    assert (conflict.winner, list(conflict.losers)) == (oslo.memory.name, [rome.memory.name])
    assert (conflict.slot.subject, conflict.slot.attribute) == ("", "lives_in")
    assert "Rome" in conflict.explanation
    assert "Oslo" in conflict.explanation
    assert not conflict.question
    assert [evidence.quote for evidence in conflict.evidence] == ["lives_in: Rome", "lives_in: Oslo"]
    assert states(found) == {"Rome": "SUPERSEDED", "Oslo": "ACTIVE"}
    response = await real.knowledge.ListSlotHistory(pb.ListSlotHistoryRequest(scope=SCOPE, memory=oslo.memory.name))
    assert [(v.memory.fact.text, v.ended_by) for v in response.values] == [("Rome", name), ("Oslo", "")]


async def test_both_clocks_agree_in_every_way_to_read(real: Api) -> None:
    rome = (await tell(real, "Rome", since=100)).memory.name
    between = time.time()
    oslo = (await tell(real, "Oslo", since=200)).memory.name
    cases = [
        (when(valid=150), ["Rome"]),
        (when(valid=250), ["Oslo"]),
        (when(valid=50), []),
        (when(known=between), ["Rome"]),
        (when(valid=250, known=between), ["Rome"]),
        (when(known=between - 3600), []),
        (when(valid=199.99), ["Rome"]),
        (when(valid=200), ["Oslo"]),
    ]
    for as_of, expected in cases:
        listed = await real.memory.ListMemories(memories_pb.ListMemoriesRequest(scope=SCOPE, as_of=as_of))
        assert [m.fact.text for m in listed.memories] == expected, as_of
        query = {"text": "lives_in Rome Oslo"}
        recalled = await real.recall.RecallOnce(
            recall_pb.RecallOnceRequest(scope=SCOPE, query=query, options={"as_of": as_of})
        )
        assert sorted(hit.memory.fact.text for hit in recalled.hits) == sorted(expected), as_of
        assert await history(real, slot={"attribute": "Lives In"}, as_of=as_of) == expected
        for name, value in ((rome, "Rome"), (oslo, "Oslo")):
            one = real.memory.GetMemory(memories_pb.GetMemoryRequest(name=name, as_of=as_of))
            many = real.memory.BatchGetMemories(memories_pb.BatchGetMemoriesRequest(names=[name], as_of=as_of))
            if value in expected:
                assert (await one).memory.fact.text == value
                assert len((await many).memories) == 1
            else:
                assert (await refused(one)).reason == (await refused(many)).reason == "RESOURCE_NOT_FOUND"
    then = await real.memory.GetMemory(memories_pb.GetMemoryRequest(name=rome, as_of=when(known=between)))
    assert then.memory.state == 1
    assert not then.memory.HasField("valid_end_time")


async def test_an_undone_resolution_leaves_what_was_before(real: Api) -> None:
    rome = (await tell(real, "Rome", since=100)).memory
    oslo = await tell(real, "Oslo", since=200)
    name = oslo.conflicts[0]
    stale = await refused(real.knowledge.UndoResolution(pb.UndoResolutionRequest(name=name, etag="7")))
    assert (stale.code, stale.reason) == (grpc.StatusCode.ABORTED, "ETAG_MISMATCH")
    undone = await real.knowledge.UndoResolution(pb.UndoResolutionRequest(name=name, etag="1", reason="a mistake"))
    assert undone.conflict.state == conflict_pb2.CONFLICT_STATE_UNDONE
    assert undone.conflict.reason == "a mistake"
    assert states(undone) == {"Rome": "ACTIVE", "Oslo": "ACTIVE"}
    back = undone.memories[0]
    back.etag = rome.etag
    assert back == rome
    again = await refused(real.knowledge.UndoResolution(pb.UndoResolutionRequest(name=name)))
    assert set(again.fields) == {"name"}
    listed = await real.memory.ListMemoryRevisions(memories_pb.ListMemoryRevisionsRequest(parent=rome.name))
    changes = [memory_pb2.MemoryChange.Name(revision.change) for revision in listed.revisions]
    assert [change.removeprefix("MEMORY_CHANGE_") for change in changes] == ["RESTORED", "SUPERSEDED", "CREATED"]


async def test_a_later_conflict_is_undone_first(real: Api) -> None:
    await tell(real, "Rome", since=100)
    first = (await tell(real, "Oslo", since=200)).conflicts[0]
    later = (await tell(real, "Paris", since=300)).conflicts[0]
    refusal = await refused(real.knowledge.UndoResolution(pb.UndoResolutionRequest(name=first)))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "CONFLICT_BLOCKED")
    assert refusal.metadata["conflict"] == later
    await real.knowledge.UndoResolution(pb.UndoResolutionRequest(name=later))
    await real.knowledge.UndoResolution(pb.UndoResolutionRequest(name=first))


async def test_what_contradicts_is_refused_where_that_is_the_policy(real: Api) -> None:
    rome = (await tell(real, "Rome")).memory.name
    reject = conflict_pb2.CONFLICT_POLICY_REJECT
    create = memories_pb.CreateMemoryRequest(scope=SCOPE, memory=fact("Oslo"), conflict_policy=reject)
    for call in (tell(real, "Oslo", policy=reject), real.memory.CreateMemory(create)):
        refusal = await refused(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "CONFLICT_REJECTED")
        assert refusal.metadata["memories"] == rome
    hobby = (
        await real.memory.CreateMemory(memories_pb.CreateMemoryRequest(scope=SCOPE, memory=fact("go", "x")))
    ).memory
    changed = fact("Oslo", name=hobby.name)
    update = memories_pb.UpdateMemoryRequest(memory=changed, conflict_policy=reject)
    assert (await refused(real.memory.UpdateMemory(update))).reason == "CONFLICT_REJECTED"
    batch = memories_pb.BatchRememberRequest(
        scope=SCOPE,
        items=[{"memory": fact("Oslo")}, {"memory": fact("Ann", "name")}],
        options={"conflict_policy": reject},
        request_id=str(uuid.uuid4()),
    )
    response = await real.memory.BatchRemember(batch)
    assert response.results[0].error.reason == error_reason_pb2.ERROR_REASON_CONFLICT_REJECTED
    assert response.results[1].outcomes[0].action == memories_pb.REMEMBER_ACTION_CREATED
    assert await real.memory.BatchRemember(batch) == response
    assert await history(real, slot={"attribute": "lives_in"}) == ["Rome"]


async def test_a_change_may_contradict_what_is_known(real: Api) -> None:
    await tell(real, "Rome", since=100)
    other = (await tell(real, "go", "hobby", since=200)).memory
    changed = fact("Oslo", name=other.name)
    await real.memory.UpdateMemory(memories_pb.UpdateMemoryRequest(memory=changed))
    assert await history(real, slot={"attribute": "lives_in"}) == ["Rome", "Oslo"]
    (conflict,) = await conflicts(real, states=[RESOLVED])
    assert conflict.winner == other.name


async def test_entities_are_merged_and_parted(real: Api) -> None:
    async def entity(name: str) -> str:
        memory = {"entity": {"display_name": name}}
        made = await real.memory.CreateMemory(memories_pb.CreateMemoryRequest(scope=SCOPE, memory=memory))
        return str(made.memory.name)

    acme, corp = await entity("Acme"), await entity("Acme Corp")
    first = fact("Oslo", "located_in")
    first.fact.subject = corp
    told = await real.memory.CreateMemory(memories_pb.CreateMemoryRequest(scope=SCOPE, memory=first))
    asked = pb.MergeEntitiesRequest(target=acme, sources=[corp], reason="one firm", validate_only=True)
    previewed = await real.knowledge.MergeEntities(asked)
    assert previewed.moved_memories == 1
    unchanged = await real.memory.GetMemory(memories_pb.GetMemoryRequest(name=told.memory.name))
    assert unchanged.memory == told.memory
    asked.validate_only = False
    merged = await real.knowledge.MergeEntities(asked)
    assert merged.moved_memories == 1
    assert merged.entity.name == acme
    assert "Acme Corp" in merged.entity.entity.aliases
    moved = await real.memory.GetMemory(memories_pb.GetMemoryRequest(name=told.memory.name))
    assert moved.memory.fact.subject == acme
    # The record of a merge is no conflict of memories.
    assert not await conflicts(real, states=[OPEN, RESOLVED])
    parted = await real.knowledge.UndoMergeEntities(pb.UndoMergeEntitiesRequest(source=corp))
    assert [entity.name for entity in parted.entities] == [corp, acme]
    assert parted.moved_memories == 1
    back = await real.memory.GetMemory(memories_pb.GetMemoryRequest(name=told.memory.name))
    assert back.memory.fact.subject == corp
    again = await refused(real.knowledge.UndoMergeEntities(pb.UndoMergeEntitiesRequest(source=corp)))
    assert set(again.fields) == {"source"}
    same = pb.MergeEntitiesRequest(target=acme, sources=[acme])
    assert set((await refused(real.knowledge.MergeEntities(same))).fields) == {"sources"}


async def test_names_of_another_tenant_do_not_exist(real: Api) -> None:
    conflict = await dispute(real, "Rome", "Oslo")
    for stranger in (conflict.name.replace("users/ann", "users/ben"), conflict.name.replace("acme", "acme2")):
        calls = (
            real.knowledge.GetConflict(pb.GetConflictRequest(name=stranger)),
            resolve(real, stranger, dismissal={}),
            real.knowledge.UndoResolution(pb.UndoResolutionRequest(name=stranger)),
        )
        for call in calls:
            assert (await refused(call)).reason == "RESOURCE_NOT_FOUND"
    memory = conflict.memories[0].replace("users/ann", "users/ben")
    foreign = pb.ListConflictsRequest(scope=SCOPE, memory=memory)
    assert set((await refused(real.knowledge.ListConflicts(foreign))).fields) == {"memory"}
    assert set((await refused(resolve(real, conflict.name, keep_memory=memory))).fields) == {"keep_memory"}
    history_of = pb.ListSlotHistoryRequest(scope={"namespace": "acme", "user": "ben"}, memory=memory)
    assert (await refused(real.knowledge.ListSlotHistory(history_of))).reason == "RESOURCE_NOT_FOUND"


async def test_conflicts_are_narrowed(real: Api) -> None:
    mine = {**SCOPE, "agent": "a1", "session": "s1"}
    for value in ("red", "blue"):
        await tell(real, value, "favourite:colour", policy=3, scope=mine)
    other = await dispute(real, "Rome", "Oslo")
    attributes = [conflict.slot.attribute for conflict in await conflicts(real)]
    assert len(attributes) == 2
    assert attributes[0] == "lives_in"
    assert [c.name for c in await conflicts(real, memory=other.memories[0])] == [other.name]
    for scope in (mine, {**SCOPE, "session": "s1"}):
        response = await real.knowledge.ListConflicts(pb.ListConflictsRequest(scope=scope))
        assert [c.slot.attribute for c in response.conflicts] == [attributes[1]]
        assert response.conflicts[0].scope.session == "s1"
    # What is of no agent is every agent's.
    response = await real.knowledge.ListConflicts(pb.ListConflictsRequest(scope={**SCOPE, "agent": "a2"}))
    assert [c.name for c in response.conflicts] == [other.name]
    await resolve(real, other.name, dismissal={})
    assert len(await conflicts(real)) == 1
    assert len(await conflicts(real, states=[OPEN, conflict_pb2.CONFLICT_STATE_DISMISSED])) == 2
    wrong = pb.ListConflictsRequest(scope=SCOPE, page_token="nonsense")
    assert set((await refused(real.knowledge.ListConflicts(wrong))).fields) == {"page_token"}


@pytest.mark.timeout(60)
async def test_a_thousand_conflicts_come_page_by_page_each_once(real: Api) -> None:
    items = []
    for number in range(1001):
        said, denied = fact("so", f"matter {number}"), fact("so", f"matter {number}")
        denied.fact.negated, denied.fact.statement = True, f"matter {number}: not so"
        items += [{"memory": said}, {"memory": denied}]
    for start in range(0, len(items), 256):
        response = await real.memory.BatchRemember(
            memories_pb.BatchRememberRequest(
                scope=SCOPE, items=items[start : start + 256], options={"conflict_policy": 3, "wait": 1}
            )
        )
        assert not any(result.HasField("error") for result in response.results)
    request, seen = pb.ListConflictsRequest(scope=SCOPE, page_size=137), []
    while True:
        response = await real.knowledge.ListConflicts(request)
        seen += [conflict.name for conflict in response.conflicts]
        if not response.next_page_token:
            break
        request.page_token = response.next_page_token
        # What is opened meanwhile belongs to no later page.
        await dispute(real, "x", "y", attribute=f"favourite:new{len(seen)}")
    assert len(seen) == len(set(seen)) == 1001
    assert seen == sorted(seen, reverse=True)


async def test_a_long_history_comes_page_by_page_in_order(real: Api) -> None:
    items = [{"memory": fact(f"city {number}", since=100 + number)} for number in range(100)]
    # In whatever order it is told.
    told = await real.memory.BatchRemember(memories_pb.BatchRememberRequest(scope=SCOPE, items=items[::-1]))
    request = pb.ListSlotHistoryRequest(scope=SCOPE, memory=told.results[0].outcomes[0].memory.name, page_size=7)
    seen = []
    while True:
        response = await real.knowledge.ListSlotHistory(request)
        seen += [value.memory.fact.text for value in response.values]
        if not response.next_page_token:
            break
        request.page_token = response.next_page_token
    assert seen == [f"city {number}" for number in range(100)]
    assert await history(real, slot={"attribute": "lives_in"}, as_of=when(valid=150)) == ["city 50"]
    for wrong, field in (
        ({"memory": told.results[0].outcomes[0].memory.name, "slot": {"attribute": "lives_in"}}, "slot.attribute"),
        ({}, "slot.attribute"),
        ({"slot": {"attribute": "lives_in"}, "page_token": request.page_token or "x"}, "page_token"),
    ):
        asked = pb.ListSlotHistoryRequest(scope=SCOPE, **wrong)
        assert set((await refused(real.knowledge.ListSlotHistory(asked))).fields) == {field}
    plain = {"episode": {"text": "a plain episode"}}
    episode = await real.memory.CreateMemory(memories_pb.CreateMemoryRequest(scope=SCOPE, memory=plain))
    none = pb.ListSlotHistoryRequest(scope=SCOPE, memory=episode.memory.name)
    assert set((await refused(real.knowledge.ListSlotHistory(none))).fields) == {"memory"}


async def test_a_retry_gets_the_first_answer(real: Api) -> None:
    await tell(real, "Rome", since=100)
    remember = str(uuid.uuid4())
    first = await tell(real, "Oslo", since=200, request_id=remember)
    name = first.conflicts[0]
    undo = pb.UndoResolutionRequest(name=name, request_id=str(uuid.uuid4()))
    undone = await real.knowledge.UndoResolution(undo)
    assert await tell(real, "Oslo", since=200, request_id=remember) == first
    conflict = await dispute(real, "red", "blue", attribute="favourite:colour")
    keep = pb.ResolveConflictRequest(name=conflict.name, keep_memory=conflict.memories[0], request_id=str(uuid.uuid4()))
    kept = await real.knowledge.ResolveConflict(keep)
    await resolve(real, conflict.name, keep_memory=conflict.memories[1])
    assert await real.knowledge.ResolveConflict(keep) == kept
    assert await real.knowledge.UndoResolution(undo) == undone
    other = pb.ResolveConflictRequest(name=conflict.name, dismissal={}, request_id=keep.request_id)
    assert (await refused(real.knowledge.ResolveConflict(other))).reason == "REQUEST_ID_REUSED"


async def test_an_answer_fits_a_message_however_long_its_memories_are(real: Api) -> None:
    names = []
    for number in range(9):
        memory = fact(f"v{number}", since=100 + number)
        memory.fact.statement = f"{number} " + "long " * 100_000
        response = await real.memory.Remember(
            memories_pb.RememberRequest(scope=SCOPE, item={"memory": memory}, options={"conflict_policy": 3, "wait": 1})
        )
        names.append(response.outcomes[0].memory.name)
    (conflict,) = await conflicts(real)
    assert all(len(evidence.quote) == 1000 for evidence in conflict.evidence)
    found = await real.knowledge.GetConflict(pb.GetConflictRequest(name=conflict.name))
    assert found.ByteSize() < 4 << 20
    assert [memory.name for memory in found.memories] == names
    assert found.memories[0].fact.statement
    assert not found.memories[-1].HasField("fact")
    values = await real.knowledge.ListSlotHistory(pb.ListSlotHistoryRequest(scope=SCOPE, memory=names[0]))
    assert 0 < len(values.values) < 9
    assert values.next_page_token
