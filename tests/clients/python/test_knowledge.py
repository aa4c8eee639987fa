"""What memories say together, between values and the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import grpc
import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Conflict,
    ConflictChanged,
    ConflictEvidence,
    ConflictPolicy,
    ConflictResolution,
    ConflictRule,
    ConflictState,
    Conversation,
    ConversationTurn,
    Declined,
    Fact,
    FailedPrecondition,
    Item,
    MemoryState,
    Memsidecar,
    RememberAction,
    Scope,
    WriteStages,
)
from memsidecar_client.v1 import knowledge_service_pb2 as pb
from memsidecar_client.v1.memory_service_pb2 import (
    BatchRememberResponse,
    GetMemoryResponse,
    ListMemoriesResponse,
    RememberResponse,
)
from memsidecar_client.v1.recall_service_pb2 import RecallOnceResponse
from memsidecar_client.v1.session_service_pb2 import EndSessionResponse
from memsidecar_client.v1.watch_pb2 import WatchMemoriesResponse

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made

NAME = "namespaces/acme/users/ana/conflicts/c"
ROME, OSLO = (f"namespaces/acme/users/ana/memories/{value}" for value in ("rome", "oslo"))
DAY = datetime(2026, 5, 1, tzinfo=UTC)
CONFLICT: dict[str, Any] = {
    "name": NAME,
    "scope": {"namespace": "acme", "user": "ana"},
    "state": 2,
    "rule": 1,
    "policy": 1,
    "resolution": 2,
    "slot": {"subject": "s", "attribute": "lives_in"},
    "memories": [ROME, OSLO],
    "winner": OSLO,
    "losers": [ROME],
    "explanation": "e",
    "question": "q",
    "question_language": "zh",
    "severity": 0.5,
    "evidence": [{"memory": ROME, "source": "x", "quote": "words"}],
    "create_time": DAY,
    "resolved_by": "planner",
    "reason": "r",
    "etag": "3",
}


async def test_conflicts_come_page_by_page_as_values(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    def page(request: pb.ListConflictsRequest) -> pb.ListConflictsResponse:
        return made(pb.ListConflictsResponse, conflicts=[CONFLICT], next_page_token="" if request.page_token else "t")

    fake.answers["ListConflicts"] = page
    found = [conflict async for conflict in client.conflicts(states=[ConflictState.OPEN], memory=ROME, user="ben")]
    assert [call.request.page_token for call in fake.calls["ListConflicts"]] == ["", "t"]
    request = fake.calls["ListConflicts"][0].request
    assert (request.scope.user, list(request.states), request.memory) == ("ben", [1], ROME)
    conflict = found[1]
    assert (conflict.name, conflict.scope, conflict.etag) == (NAME, Scope("acme", "ana"), "3")
    assert (conflict.state, conflict.rule) == (ConflictState.RESOLVED, ConflictRule.VALUE)
    assert (conflict.policy, conflict.resolution) == (ConflictPolicy.AUTO, ConflictResolution.CORRECTED)
    assert (conflict.subject, conflict.attribute, conflict.severity) == ("s", "lives_in", 0.5)
    assert (conflict.memories, conflict.winner, conflict.losers) == ((ROME, OSLO), OSLO, (ROME,))
    assert (conflict.explanation, conflict.question, conflict.question_language) == ("e", "q", "zh")
    assert conflict.evidence == (ConflictEvidence(ROME, "x", "words"),)
    assert (conflict.create_time, conflict.resolve_time) == (DAY, None)
    assert (conflict.resolved_by, conflict.reason) == ("planner", "r")


async def test_a_conflict_comes_with_its_memories(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    memories = [{"name": ROME, "fact": {"statement": "Rome", "negated": True}}]
    fake.answers["GetConflict"] = made(pb.GetConflictResponse, conflict=CONFLICT, memories=memories)
    details = await client.get_conflict(NAME)
    assert fake.only("GetConflict").name == NAME
    assert details.conflict.winner == OSLO
    assert details.memories[0].body == Fact("Rome", negated=True)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"keep": OSLO}, {"keep_memory": OSLO}),
        ({"replacement": Fact("Bergen")}, {"replacement": {"fact": {"statement": "Bergen"}}}),
        ({"dismiss": True}, {"dismissal": {}}),
        ({"answer": "Oslo", "correction": True}, {"answer": "Oslo", "correction": True}),
        (
            {"split": {ROME: (None, DAY), OSLO: (DAY, None)}},
            {
                "temporal_split": {
                    "parts": [
                        {"memory": ROME, "interval": {"end_time": DAY}},
                        {"memory": OSLO, "interval": {"start_time": DAY}},
                    ]
                }
            },
        ),
    ],
    ids=["keep", "replacement", "dismiss", "answer", "split"],
)
async def test_a_conflict_is_resolved_in_one_way(
    client: AsyncMemsidecar, fake: FakeSidecar, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    fake.answers["ResolveConflict"] = made(
        pb.ResolveConflictResponse, conflict=CONFLICT, memories=[{"name": OSLO}], revision={"token": "r"}
    )
    settled = await client.resolve_conflict(NAME, **given, etag="3", reason="because")
    request = fake.only("ResolveConflict")
    assert UUID(request.request_id)
    request.request_id = ""
    assert request == made(pb.ResolveConflictRequest, name=NAME, etag="3", reason="because", **expected)
    assert (settled.conflict.name, settled.memories[0].name, settled.revision) == (NAME, OSLO, "r")


@pytest.mark.parametrize("given", [{}, {"keep": OSLO, "dismiss": True}, {"answer": "a", "split": {}}], ids=str)
async def test_no_way_or_several_ways_to_resolve_are_a_mistake(client: AsyncMemsidecar, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="takes one of"):
        await client.resolve_conflict(NAME, **given)


async def test_a_resolution_is_undone_and_what_blocks_it_is_named(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["UndoResolution"] = made(pb.UndoResolutionResponse, conflict=CONFLICT, revision={"token": "r"})
    assert (await client.undo_resolution(NAME, etag="3", reason="why", request_id="i")).revision == "r"
    request = fake.only("UndoResolution")
    assert (request.name, request.etag, request.reason, request.request_id) == (NAME, "3", "why", "i")
    fake.failures["UndoResolution"] += [
        Failure(grpc.StatusCode.FAILED_PRECONDITION, "a later one"),
        Failure(grpc.StatusCode.ABORTED, "changed"),
    ]
    with pytest.raises(FailedPrecondition):
        await client.undo_resolution(NAME)
    with pytest.raises(Conflict):
        await client.undo_resolution(NAME)


async def test_a_slot_has_a_history(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["ListSlotHistory"] = made(
        pb.ListSlotHistoryResponse, values=[{"memory": {"name": ROME}, "ended_by": NAME}, {"memory": {"name": OSLO}}]
    )
    values = [value async for value in client.slot_history("lives_in", subject="s", valid_at=DAY, known_at=DAY)]
    assert [(value.memory.name, value.ended_by) for value in values] == [(ROME, NAME), (OSLO, "")]
    request = fake.only("ListSlotHistory")
    assert (request.slot.subject, request.slot.attribute) == ("s", "lives_in")
    assert request.as_of.valid_time.ToDatetime(UTC) == request.as_of.record_time.ToDatetime(UTC) == DAY
    assert not (request.scope.agent)
    assert not (request.scope.session)
    _ = [value async for value in client.slot_history(memory=ROME)]
    other = fake.calls["ListSlotHistory"][1].request
    assert (other.memory, other.HasField("slot"), other.HasField("as_of")) == (ROME, False, False)


async def test_neighbours_are_walked_to(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    near = {"memory": {"name": OSLO}, "depth": 2, "from_memory": ROME, "relation": "MENTIONS", "to_memory": OSLO}
    fake.answers["ListNeighbors"] = made(pb.ListNeighborsResponse, neighbors=[near])
    (found,) = [each async for each in client.neighbors(ROME, max_depth=2, relations=["MENTIONS"], valid_at=DAY)]
    assert (found.memory.name, found.depth) == (OSLO, 2)
    assert (found.from_memory, found.relation, found.to_memory) == (ROME, "MENTIONS", OSLO)
    request = fake.only("ListNeighbors")
    assert (request.memory, request.max_depth, list(request.relations)) == (ROME, 2, ["MENTIONS"])
    assert request.as_of.HasField("valid_time")


async def test_entities_are_merged_and_parted(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["MergeEntities"] = made(
        pb.MergeEntitiesResponse, entity={"name": "e"}, moved_memories=3, conflicts=[NAME], revision={"token": "r"}
    )
    merged = await client.merge_entities("e", ["f", "g"], reason="one", validate_only=True)
    request = fake.only("MergeEntities")
    assert (request.target, list(request.sources), request.reason, request.validate_only) == (
        "e",
        ["f", "g"],
        "one",
        True,
    )
    assert (merged.entity.name, merged.moved_memories, merged.conflicts, merged.revision) == ("e", 3, (NAME,), "r")
    fake.answers["UndoMergeEntities"] = made(
        pb.UndoMergeEntitiesResponse, entities=[{"name": "f"}, {"name": "e"}], moved_memories=3, revision={"token": "s"}
    )
    parted = await client.undo_merge_entities("f", reason="two")
    assert ([entity.name for entity in parted.entities], parted.moved_memories, parted.revision) == (["f", "e"], 3, "s")
    assert fake.only("UndoMergeEntities").source == "f"


def test_the_blocking_client_does_the_same(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.answers["ListConflicts"] = made(pb.ListConflictsResponse, conflicts=[CONFLICT])
    fake.answers["ResolveConflict"] = made(pb.ResolveConflictResponse, conflict=CONFLICT)
    (conflict,) = blocking_client.conflicts()
    assert blocking_client.resolve_conflict(conflict.name, keep=OSLO).conflict == conflict


async def test_what_was_read_out_of_a_text_stands_after_it(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["Remember"] = made(
        RememberResponse,
        outcomes=[
            {"action": 1, "memory": {"name": "episode"}},
            {
                "action": 3,
                "memory": {"name": OSLO},
                "superseded_memories": [ROME],
                "conflicts": [NAME],
                "extracted_from": "episode",
            },
            {"action": 6, "explanation": "small talk", "extracted_from": "episode"},
        ],
        stages={"durable": True, "searchable": True, "job": "j"},
    )
    remembered = await client.remember("I moved", conflict_policy=ConflictPolicy.ASK, skip_extraction=True)
    request = fake.only("Remember")
    assert (request.options.conflict_policy, request.options.skip_extraction) == (6, True)
    own, read = remembered.outcomes
    assert (own.extracted_from, read.extracted_from) == ("", "episode")
    assert read.action is RememberAction.SUPERSEDED
    assert (read.superseded, read.conflicts) == ((ROME,), (NAME,))
    assert remembered.declined == (Declined("small talk", "episode"),)
    assert remembered.stages == WriteStages(True, False, True, ("j",))
    assert [memory.name for memory in remembered.memories] == ["episode", OSLO]


async def test_a_conversation_is_one_item_and_its_turns_count(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    turns = [ConversationTurn("hi", "user", DAY, "m1"), ConversationTurn("hello", "assistant")]
    await client.remember_conversation(turns, entities=["Ana"], session="s")
    item = fake.only("Remember").item
    assert [(t.text, t.speaker, t.message, t.HasField("time")) for t in item.conversation.turns] == [
        ("hi", "user", "m1", True),
        ("hello", "assistant", "", False),
    ]
    assert list(item.entities) == ["Ana"]
    fake.answers["BatchRemember"] = made(BatchRememberResponse, stages={"durable": True, "extracted": True, "job": "j"})
    long = Conversation(tuple(ConversationTurn(str(n)) for n in range(200)))
    many = await client.remember_many([long, Item(long), "one more"], conflict_policy=ConflictPolicy.FLAG)
    assert [len(call.request.items) for call in fake.calls["BatchRemember"]] == [1, 2]
    assert many.stages == WriteStages(True, True, False, ("j", "j"))


async def test_the_past_is_read_on_both_clocks(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["GetMemory"] = made(GetMemoryResponse, memory={"name": ROME})
    fake.answers["ListMemories"] = made(ListMemoriesResponse, memories=[{"name": ROME}])
    await client.get_memory(ROME, valid_at=DAY)
    await client.get_memories([ROME], known_at=DAY)
    assert [memory.name async for memory in client.list_memories(valid_at=DAY, known_at=DAY)] == [ROME]
    asked = [fake.only(method).as_of for method in ("GetMemory", "BatchGetMemories", "ListMemories")]
    assert [(as_of.HasField("valid_time"), as_of.HasField("record_time")) for as_of in asked] == [
        (True, False),
        (False, True),
        (True, True),
    ]
    await client.get_memory(ROME)
    assert not fake.calls["GetMemory"][1].request.HasField("as_of")


async def test_a_hit_says_how_what_it_states_stands(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    standing = {
        "memory": ROME,
        "state": 2,
        "text": "Rome",
        "superseding_memory": OSLO,
        "conflict": NAME,
        "counterparts": [OSLO],
    }
    hits = [{"memory": {"name": ROME}, "standings": [standing]}, {"memory": {"name": OSLO}, "counterpart_of": ROME}]
    fake.answers["RecallOnce"] = made(RecallOnceResponse, hits=hits)
    first, second = (await client.recall("where?")).hits
    (found,) = first.standings
    assert (found.memory, found.state, found.text) == (ROME, MemoryState.SUPERSEDED, "Rome")
    assert (found.superseding_memory, found.conflict, found.counterparts) == (OSLO, NAME, (OSLO,))
    assert (first.counterpart_of, second.counterpart_of) == ("", ROME)


async def test_a_watch_tells_of_conflicts(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.watches.append([made(WatchMemoriesResponse, conflict=CONFLICT, revision={"token": "r"})])
    async with client.watch_memories() as events:
        event = await events.next_event()
    assert isinstance(event, ConflictChanged)
    assert (event.conflict.name, event.conflict.state, event.revision) == (NAME, ConflictState.RESOLVED, "r")


async def test_a_session_is_ended_and_remembered(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["EndSession"] = made(
        EndSessionResponse,
        session={"name": "namespaces/acme/users/ana/sessions/s"},
        outcomes=[{"action": 1, "memory": {"name": ROME}}, {"action": 6, "explanation": "why"}],
        stages={"durable": True, "job": "j"},
        revision={"token": "r"},
    )
    ended = await client.session("s").end_and_remember()
    assert fake.only("EndSession").remember
    assert (ended.session.name, ended.outcomes[0].memory.name) == ("namespaces/acme/users/ana/sessions/s", ROME)
    assert (ended.declined, ended.stages.jobs, ended.revision) == ((Declined("why"),), ("j",), "r")
    await client.session("s").end()
    assert not fake.calls["EndSession"][1].request.remember
