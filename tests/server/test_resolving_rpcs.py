"""Conflicts are settled over the API, on the real parts, in every way there is."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from memsidecar.v1 import (
    conflict_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
)
from tests.server.api import Api, refused
from tests.server.knowing import DAY, OPEN, RESOLVED, SCOPE, dispute, fact, history, resolve, states, tell, when

# Fields are given as plain dicts.
pb: Any = knowledge_service_pb2
memories_pb: Any = memory_service_pb2
recall_pb: Any = recall_service_pb2


@pytest.fixture
def real(line: grpc.aio.Channel) -> Api:
    return Api(line)


@pytest.mark.parametrize(
    ("values", "language", "answer"), [(("Rome", "Oslo"), "en", "It's Oslo now"), (("罗马", "上海"), "zh", "上海")]
)
async def test_a_question_is_asked_and_its_answer_decides(
    real: Api, values: tuple[str, str], language: str, answer: str
) -> None:
    conflict = await dispute(real, *values, policy=conflict_pb2.CONFLICT_POLICY_ASK)
    assert conflict.state == OPEN
    assert conflict.question_language == language
    assert all(value in conflict.question for value in values)
    for useless in ("neither, I think", " ".join(values), "   "):
        refusal = await refused(resolve(real, conflict.name, answer=useless))
        assert set(refusal.fields) == {"answer"}, useless
    settled = await resolve(real, conflict.name, answer=answer, reason="the user said so")
    assert settled.conflict.state == RESOLVED
    assert not settled.conflict.question
    assert states(settled) == {values[0]: "SUPERSEDED", values[1]: "ACTIVE"}


async def test_one_is_kept_and_the_others_never_were_true(real: Api) -> None:
    conflict = await dispute(real, "Rome", "Oslo", "Paris")
    settled = await resolve(real, conflict.name, keep_memory=conflict.memories[1], correction=True)
    assert settled.conflict.resolution == conflict_pb2.CONFLICT_RESOLUTION_CORRECTED
    assert states(settled) == {"Rome": "SUPERSEDED", "Oslo": "ACTIVE", "Paris": "SUPERSEDED"}
    for day in range(99, 110):
        expected = ["Oslo"] if day >= 100 else []
        assert await history(real, slot={"attribute": "lives_in"}, as_of=when(valid=day)) == expected
    # Settled once more, otherwise.
    other = await resolve(real, conflict.name, keep_memory=conflict.memories[2], etag=settled.conflict.etag)
    assert states(other)["Paris"] == "ACTIVE"


async def test_none_was_right(real: Api) -> None:
    conflict = await dispute(real, "Rome", "Oslo")
    settled = await resolve(real, conflict.name, replacement=fact("Bergen"), correction=True)
    assert settled.conflict.resolution == conflict_pb2.CONFLICT_RESOLUTION_REPLACED
    assert states(settled) == {"Rome": "SUPERSEDED", "Oslo": "SUPERSEDED", "Bergen": "ACTIVE"}
    query = {"text": "Bergen"}
    recalled = await real.recall.RecallOnce(recall_pb.RecallOnceRequest(scope=SCOPE, query=query))
    assert [hit.memory.fact.text for hit in recalled.hits][:1] == ["Bergen"]


async def test_each_has_its_time(real: Api) -> None:
    conflict = await dispute(real, "Rome", "Oslo")
    rome, oslo = conflict.memories

    def part(memory: str, start: int | None, end: int | None) -> Any:
        made = pb.TemporalPart(memory=memory)
        if start is not None:
            made.interval.start_time.seconds = start * DAY
        if end is not None:
            made.interval.end_time.seconds = end * DAY
        return made

    for parts, field in (
        ([part(rome, 100, 300), part(oslo, 200, None)], "temporal_split.parts[1].interval"),
        ([part(rome, 100, 200)], "temporal_split.parts"),
        ([part(rome, 100, 200), part(rome, 200, None)], "temporal_split.parts[1].memory"),
    ):
        refusal = await refused(resolve(real, conflict.name, temporal_split={"parts": parts}))
        assert set(refusal.fields) == {field}
    parts = [part(rome, None, 200), part(oslo, 200, None)]
    settled = await resolve(real, conflict.name, temporal_split={"parts": parts})
    assert settled.conflict.resolution == conflict_pb2.CONFLICT_RESOLUTION_SPLIT
    assert await history(real, slot={"attribute": "lives_in"}, as_of=when(valid=10)) == ["Rome"]
    assert await history(real, slot={"attribute": "lives_in"}, as_of=when(valid=200)) == ["Oslo"]


async def test_no_conflict_after_all(real: Api) -> None:
    conflict = await dispute(real, "Rome", "Oslo")
    dismissed = await resolve(real, conflict.name, dismissal={}, reason="two homes")
    assert dismissed.conflict.state == conflict_pb2.CONFLICT_STATE_DISMISSED
    assert states(dismissed) == {"Rome": "ACTIVE", "Oslo": "ACTIVE"}
    assert set((await refused(resolve(real, conflict.name, dismissal={}))).fields) == {"name"}


async def test_both_are_kept_where_that_is_the_policy(real: Api) -> None:
    await tell(real, "Rome", since=100)
    oslo = await tell(real, "Oslo", since=200, policy=conflict_pb2.CONFLICT_POLICY_KEEP_BOTH)
    assert oslo.action == memories_pb.REMEMBER_ACTION_CREATED
    found = await real.knowledge.GetConflict(pb.GetConflictRequest(name=oslo.conflicts[0]))
    assert found.conflict.resolution == conflict_pb2.CONFLICT_RESOLUTION_KEPT_BOTH
    assert states(found) == {"Rome": "ACTIVE", "Oslo": "ACTIVE"}
