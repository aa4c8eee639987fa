"""What a recall may be told beside its question, and what an answer tells beside its hits, over the wire."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from memsidecar.domain.memory import Episode, Memory
from memsidecar.domain.recall import Hit, MessageHit, Recalled, Tier, Understanding
from memsidecar.domain.scope import Scope
from memsidecar.domain.session import Message, Role
from memsidecar.v1 import memory_pb2, scope_pb2
from memsidecar.v1 import recall_service_pb2 as pb
from tests.server.api import Api, refused, refused_stream
from tests.server.conftest import HOME
from tests.server.fakes import NOW, World

ANN = scope_pb2.Scope(user="ann")
SESSION = "namespaces/home/users/ann/sessions/s1"
MAY, JUNE = 1_683_504_000_000_000, 1_686_182_400_000_000


def at(micros: int) -> Timestamp:
    return Timestamp(seconds=micros // 1_000_000, nanos=micros % 1_000_000 * 1_000)


def asked(token: str = "", **options: Any) -> pb.RecallOnceRequest:
    return pb.RecallOnceRequest(
        scope=ANN, query=pb.Query(text="q"), options=pb.RecallOptions(page_token=token, **options)
    )


def hit(memory_id: str, text: str = "tea", **more: Any) -> Hit:
    return Hit(HOME, Memory(memory_id, Scope("home", "ann"), Episode(text), NOW, NOW), 0.5, Tier.KEYWORD, **more)


async def test_every_option_reaches_the_recall(api: Api, world: World) -> None:
    request = asked(
        as_of=memory_pb2.AsOf(valid_time=at(MAY), record_time=at(JUNE)),
        profile="calm",
        weights={"session": 0.25},
        diversity=0.0,
        adaptive_hits=True,
        only_named_time=True,
    )
    request.query.session, request.query.time_zone = SESSION, "Asia/Shanghai"
    await api.recall.RecallOnce(request)
    question = world.calls[0][1]
    assert (question.conversation, question.zone, question.known_at) == ("s1", "Asia/Shanghai", JUNE)
    assert (question.filter.valid_at, question.profile, dict(question.weights)) == (MAY, "calm", {"session": 0.25})
    assert (question.diversity, question.adaptive, question.only_named_time, question.skip) == (0.0, True, True, 0)
    await api.recall.RecallOnce(asked())
    plain = world.calls[1][1]
    assert (plain.conversation, plain.zone, plain.known_at, plain.diversity) == ("", "UTC", None, None)


async def test_a_page_goes_on_where_the_one_before_ended(api: Api, world: World) -> None:
    world.events = [Recalled((hit("a"), hit("b")), (), 7, 0.5, more=True)]
    first = await api.recall.RecallOnce(asked())
    await api.recall.RecallOnce(asked(first.next_page_token))
    assert world.calls[1][1].skip == 2
    world.events = [Recalled((hit("c"),), (), 7, 0.5)]
    assert (await api.recall.RecallOnce(asked(first.next_page_token))).next_page_token == ""


async def test_a_page_token_holds_whether_or_not_empty_options_were_sent(api: Api, world: World) -> None:
    world.events = [Recalled((hit("a"),), (), 7, 0.5, more=True)]
    for first in (pb.RecallOnceRequest(scope=ANN, query=pb.Query(text="q")), asked()):
        token = (await api.recall.RecallOnce(first)).next_page_token
        await api.recall.RecallOnce(asked(token))
        assert world.calls[-1][1].skip == 1


async def test_a_page_token_holds_for_its_recall_only(api: Api, world: World) -> None:
    world.events = [Recalled((hit("a"),), (), 7, 0.5, more=True)]
    token = (await api.recall.RecallOnce(asked())).next_page_token
    for other in (asked(token, max_hits=3), asked("nonsense")):
        assert set((await refused(api.recall.RecallOnce(other))).fields) == {"options.page_token"}
    options = pb.RecallOptions(page_token=token)
    stream = api.recall.Recall(pb.RecallRequest(scope=ANN, query=pb.Query(text="q"), options=options))
    assert set((await refused_stream(stream)).fields) == {"options.page_token"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (pb.Query(text="q", session="namespaces/home/users/bob/sessions/s1"), "query.session"),
        (pb.Query(text="q", time_zone="Mars/Olympus"), "query.time_zone"),
    ],
)
async def test_a_session_or_zone_that_cannot_be_is_named(api: Api, query: pb.Query, field: str) -> None:
    request = pb.RecallOnceRequest(scope=ANN, query=query)
    assert set((await refused(api.recall.RecallOnce(request))).fields) == {field}


async def test_an_answer_tells_messages_duplicates_and_what_was_understood(api: Api, world: World) -> None:
    understood = Understanding(("Bob",), ("e1",), MAY, JUNE, "en", 0.5, "q Bob")
    heard = MessageHit(Message(Role.USER, "tea?", seq=3), 0.75)
    one = hit("a", confidence=0.25, duplicates=((HOME, "b"),), suspicious=True)
    world.events = [Recalled((one,), (), 7, 0.5, messages=(heard,), understanding=understood)]
    answer = await api.recall.RecallOnce(asked())
    (found,) = answer.hits
    assert list(found.duplicates) == ["namespaces/home/users/ann/memories/b"]
    assert (found.confidence, found.suspicious) == (0.25, True)
    assert [(m.message.text, m.message.seq, m.score) for m in answer.messages] == [("tea?", 3, 0.75)]
    stream = [e async for e in api.recall.Recall(pb.RecallRequest(scope=ANN, query=pb.Query(text="q")))]
    for analysis in (answer.analysis, stream[-1].summary.analysis):
        assert list(analysis.people) == ["Bob"]
        assert list(analysis.entities) == ["namespaces/home/users/ann/memories/e1"]
        assert (analysis.min_time, analysis.max_time) == (at(MAY), at(JUNE))
        assert (analysis.language, analysis.breadth, analysis.rewritten_text) == ("en", 0.5, "q Bob")


async def test_hits_that_do_not_fit_are_on_the_next_page(api: Api, world: World) -> None:
    large = tuple(hit(str(n), "x" * 500_000) for n in range(10))
    world.events = [Recalled(large, (), 7, 0.5)]
    answer = await api.recall.RecallOnce(asked())
    assert 0 < len(answer.hits) < 10
    assert answer.degraded
    await api.recall.RecallOnce(asked(answer.next_page_token))
    assert world.calls[1][1].skip == len(answer.hits)


async def test_messages_of_a_session_leave_room_for_hits(api: Api, world: World) -> None:
    heard = tuple(MessageHit(Message(Role.USER, "y" * 500_000, seq=n), 1 / n) for n in range(1, 11))
    world.events = [Recalled((hit("a"),), (), 7, 0.5, messages=heard)]
    answer = await api.recall.RecallOnce(asked())
    assert [found.memory.name.rpartition("/")[2] for found in answer.hits] == ["a"]
    assert [found.message.seq for found in answer.messages] == [1, 2, 3, 4]
    assert answer.degraded
