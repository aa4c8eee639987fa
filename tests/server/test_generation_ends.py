"""Recall during generation: every way in which a stream ends, and what is left of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from memsidecar.domain.events import Matrix
from memsidecar.server.app import ServerSettings
from memsidecar.server.servicers import generation
from memsidecar.v1 import info_service_pb2
from memsidecar.v1 import recall_service_pb2 as pb
from tests.adapters.embedding_cache.test_cache import HeldEmbedder
from tests.doubles.hash_embedder import HashEmbedder
from tests.server.api import Api, Refusal, taken_apart
from tests.server.live import Live, Talk, live, nothing_left, served
from tests.services.stack import ANN
from tests.session_servers import until


class StoppableEmbedder(HeldEmbedder):
    """Tells when a call that it was busy with has been cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Matrix:
        try:
            return await super().embed(texts)
        except asyncio.CancelledError:
            self.stopped.set()
            raise


ANNS, BENS = "namespaces/acme/users/ann", "namespaces/acme/users/ben"
SENTENCE = "Caroline adopted a grey cat called Biscuit."


async def is_writing(alive: Live) -> bool:
    loaded = alive.stack.residency.peek(ANN.partition)
    return loaded is not None and not loaded.writer.idle


async def end_of(talk: Talk) -> Refusal:
    """The status of a stream that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await talk.until("an end that never comes")
    return taken_apart(caught.value)


def delta(seq: int, text: str = "x") -> dict[str, Any]:
    return {"text": {"seq": seq, "text": text}}


@pytest.mark.parametrize(
    ("events", "received"),
    [
        ([], "the end of the stream"),
        ([delta(1)], "text"),
        ([{"flush": {}}], "flush"),
        ([{"finish": {}}], "finish"),
        ([{}], "an empty message"),
    ],
)
async def test_stream_that_does_not_begin_with_start_is_refused(
    line: grpc.aio.Channel, events: list[dict[str, Any]], received: str
) -> None:
    talk = Talk(Talk.stub(line).RecallDuring())
    for event in events:
        await talk.say(**event)
    await talk.call.done_writing()
    refusal = await end_of(talk)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "PROTOCOL_VIOLATION")
    assert refusal.metadata == {"expected": "start", "received": received}


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([delta(2)], "PROTOCOL_VIOLATION"),
        ([delta(1), delta(1)], "PROTOCOL_VIOLATION"),
        ([delta(1), delta(3)], "PROTOCOL_VIOLATION"),
        ([{"start": {"scope": {"user": "ann"}}}], "PROTOCOL_VIOLATION"),
        ([{}], "PROTOCOL_VIOLATION"),
        ([delta(1), {"rewind": {"seq": 2}}], "PROTOCOL_VIOLATION"),
        ([{"credit": {}}], "INVALID_FIELD credit.hits"),
        ([{"credit": {"hits": 1001}}], "INVALID_FIELD credit.hits"),
        ([{"credit": {"hits": -1}}], "INVALID_FIELD credit.hits"),
        ([delta(1, "x" * 65_537)], "INVALID_FIELD text.text"),
        ([delta(1, "a\0b")], "INVALID_FIELD text.text"),
        ([delta(-1)], "INVALID_FIELD text.seq"),
        ([{"text": {"seq": 1, "text": "x", "source": 9}}], "INVALID_FIELD text.source"),
        ([delta(n, "x" * 60_000) for n in range(1, 20)], "INVALID_FIELD text.text"),
        ([{"feedback": {"kind": 1}}], "INVALID_FIELD feedback.memory"),
        ([{"feedback": {"memory": "nonsense", "kind": 1}}], "INVALID_FIELD feedback.memory"),
        ([{"feedback": {"memory": f"{ANNS}/memories/m1"}}], "INVALID_FIELD feedback.kind"),
        (
            [{"feedback": {"memory": f"{ANNS}/memories/m1", "kind": 1}}],
            "INVALID_FIELD feedback.memory",
        ),
        (
            [{"feedback": {"memory": f"{BENS}/memories/m1", "kind": 1}}],
            "INVALID_FIELD feedback.memory",
        ),
        ([{"finish": {"outcome": 77}}], "INVALID_FIELD finish.outcome"),
    ],
)
async def test_event_that_is_wrong_or_out_of_turn_ends_the_stream_and_is_named(
    alive: Live, line: grpc.aio.Channel, events: list[dict[str, Any]], reason: str
) -> None:
    talk = await Talk.open(line)
    for event in events:
        await talk.try_to_say(**event)
    refusal = await end_of(talk)
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    wanted, _, field = reason.partition(" ")
    assert refusal.reason == wanted
    if field:
        assert set(refusal.fields) == {field}
    await nothing_left(alive)


@pytest.mark.parametrize(
    ("start", "fields"),
    [
        ({"scope": None}, {"start.scope"}),
        ({"generation_id": "x" * 129}, {"start.generation_id"}),
        ({"prompt": "x" * 65_537}, {"start.prompt"}),
        ({"known_memories": ["nonsense"]}, {"start.known_memories[0]"}),
        ({"known_memories": [f"{BENS}/memories/m"]}, {"start.known_memories[0]"}),
        ({"known_memories": [f"{ANNS}/memories/m"] * 1001}, {"start.known_memories"}),
        ({"initial_credit": -1}, {"start.initial_credit"}),
        ({"max_total_hits": -1, "max_total_tokens": -1}, {"start.max_total_hits", "start.max_total_tokens"}),
        ({"first_seq": -1}, {"start.first_seq"}),
        ({"min_confidence": 1.5}, {"start.min_confidence"}),
        ({"time_zone": "Nowhere/Else"}, {"start.time_zone"}),
        ({"session": "nonsense"}, {"start.session"}),
        ({"session": f"{BENS}/sessions/s"}, {"start.session"}),
        (
            {
                "session": f"{ANNS}/sessions/s",
                "scope": {"namespace": "acme", "user": "ann", "session": "s"},
            },
            {"start.session"},
        ),
        ({"trigger": {"min_chars": 4097}}, {"start.trigger.min_chars"}),
        ({"trigger": {"min_interval": {"seconds": 61}}}, {"start.trigger.min_interval"}),
        ({"trigger": {"min_drift": float("nan")}}, {"start.trigger.min_drift"}),
        ({"options": {"as_of": {"record_time": {"seconds": 1}}}}, {"start.options.as_of"}),
        ({"options": {"soft_deadline": {"seconds": 1}}}, {"start.options.soft_deadline"}),
        ({"options": {"page_token": "x"}}, {"start.options.page_token"}),
        ({"options": {"adaptive_hits": True}}, {"start.options.adaptive_hits"}),
        ({"options": {"profile": "unknown"}}, {"start.options.profile"}),
        ({"options": {"min_revision": {"token": "x"}}}, {"start.options.min_revision.token"}),
        ({"options": {"filter": {"entities": ["x"]}}}, {"start.options.filter.entities[0]"}),
    ],
)
async def test_bad_start_names_what_is_wrong(
    alive: Live, line: grpc.aio.Channel, start: dict[str, Any], fields: set[str]
) -> None:
    refusal = await end_of(await Talk.open(line, **start))
    assert refusal.reason == "INVALID_FIELD"
    assert set(refusal.fields) == fields
    await nothing_left(alive)


@pytest.mark.parametrize("event", [{"flush": {}}, {"finish": {}}, delta(1), {}, {"credit": {"hits": 1}}])
async def test_what_comes_in_the_same_breath_as_finish_is_refused_and_nothing_is_kept(
    alive: Live, line: grpc.aio.Channel, event: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "_SAME_BREATH", 30.0)
    talk = await Talk.open(line, prompt="Where is Biscuit?")
    await talk.say(finish={"remember": True})
    await talk.say(**event)
    refusal = await end_of(talk)
    assert refusal.reason == "PROTOCOL_VIOLATION"
    assert refusal.metadata["expected"] == "the end of the stream"
    assert await alive.stack.texts(ANN) == []
    await nothing_left(alive)


async def test_what_comes_while_an_exchange_is_kept_is_refused_too(alive: Live, line: grpc.aio.Channel) -> None:
    alive.stack.ledger.gate.clear()
    talk = await Talk.open(line, prompt="Where is Biscuit?", generation_id="g")
    await talk.say(finish={"remember": True})
    await until(lambda: is_writing(alive))
    await talk.say(flush={})
    # What another stream says later on the same connection has been heard: so has that.
    await (await Talk.open(line)).finish()
    alive.stack.ledger.gate.set()
    assert (await end_of(talk)).reason == "PROTOCOL_VIOLATION"
    # It is kept all the same, and the same generation again is the same exchange.
    talk = await Talk.open(line, prompt="Where is Biscuit?", generation_id="g")
    assert (await talk.finish(remember=True)).remembered_memories
    assert len(await alive.stack.texts(ANN)) == 1


async def test_whoever_closes_his_side_is_not_waited_for(
    line: grpc.aio.Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "_SAME_BREATH", 30.0)
    talk = await Talk.open(line)
    await talk.say(finish={})
    await talk.call.done_writing()
    await talk.until("finished")
    assert await talk.call.code() is grpc.StatusCode.OK


async def test_a_stream_whose_end_was_told_is_over_whatever_is_sent_to_it(line: grpc.aio.Channel) -> None:
    talk = await Talk.open(line)
    await talk.say(finish={})
    await talk.until("finished")
    await talk.try_to_say(flush={})
    # gRPC's own INTERNAL, when what is written meets the end on its way; never a violation.
    assert await talk.call.code() in (grpc.StatusCode.OK, grpc.StatusCode.INTERNAL)


async def test_stream_that_is_half_closed_without_finish_is_abandoned(alive: Live, line: grpc.aio.Channel) -> None:
    talk = await Talk.open(line)
    await talk.write(SENTENCE)
    await talk.call.done_writing()
    refusal = await end_of(talk)
    assert refusal.reason == "PROTOCOL_VIOLATION"
    assert refusal.metadata == {"expected": "finish", "received": "the end of the stream"}
    assert await alive.stack.texts(ANN) == []
    await nothing_left(alive)


@pytest.mark.parametrize("ending", ["cancel", "deadline", "disconnect"])
@pytest.mark.parametrize("busy", [True, False])
async def test_stream_that_is_given_up_stops_at_once_and_leaves_nothing(
    tmp_path: Path, settings: ServerSettings, ending: str, busy: bool
) -> None:
    (tmp_path / "data").mkdir()
    embedder = HeldEmbedder()
    if not busy:
        embedder.gate.set()
    async with live(tmp_path / "data", embedder) as alive, served(settings, alive.services) as (_, line):
        talk = await Talk.open(line, deadline=0.5 if ending == "deadline" else None)
        await talk.until("started")
        await talk.write(SENTENCE)
        await embedder.entered.wait()
        if not busy:
            await talk.flush()
        if ending == "cancel":
            talk.call.cancel()
        elif ending == "disconnect":
            await line.close()
        else:
            await end_of(talk)
        given_up = time.monotonic()
        await nothing_left(alive)
        assert time.monotonic() - given_up < 1


async def test_stream_that_its_client_forgot_is_ended_and_its_place_is_free(
    alive: Live, settings: ServerSettings
) -> None:
    async with served(replace(settings, stream_idle=0.2, max_generations=1), alive.services) as (_, line):
        for silent in (False, True):
            talk = await Talk.open(line)
            if not silent:
                await talk.write(SENTENCE)
            refusal = await end_of(talk)
            assert (refusal.code, refusal.reason) == (grpc.StatusCode.ABORTED, "STREAM_IDLE")
        talk = await Talk.open(line)
        await talk.finish()


async def test_client_that_never_sends_start_is_ended(alive: Live, settings: ServerSettings) -> None:
    async with served(replace(settings, stream_idle=0.2), alive.services) as (_, line):
        assert (await end_of(Talk(Talk.stub(line).RecallDuring()))).reason == "STREAM_IDLE"


async def test_silent_stream_is_known_to_be_alive(alive: Live, settings: ServerSettings) -> None:
    async with served(replace(settings, heartbeat=0.05), alive.services) as (_, line):
        talk = await Talk.open(line)
        for _ in range(3):
            assert (await talk.until("watermark")).watermark.seq == 0
        await talk.finish()
        info = await Api(line).info.GetServerInfo(info_service_pb2.GetServerInfoRequest())
        assert info.heartbeat_interval.ToTimedelta().total_seconds() == 0.05
        assert "recall_during" in info.capabilities


async def test_more_streams_than_the_server_takes_are_refused_early(alive: Live, settings: ServerSettings) -> None:
    async with served(replace(settings, max_generations=2, max_streams=1), alive.services) as (_, line):
        open_ones = [await Talk.open(line) for _ in range(2)]
        for talk in open_ones:
            await talk.until("started")
        refusal = await end_of(await Talk.open(line))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
        assert refusal.metadata == {"limit": "generation.max_streams"}
        assert refusal.retry_after
        for talk in open_ones:
            await talk.finish()
        await _taken_again(line)


async def test_more_streams_than_a_namespace_may_have_are_refused_and_others_are_not(
    tmp_path: Path, settings: ServerSettings
) -> None:
    (tmp_path / "data").mkdir()
    async with (
        live(tmp_path / "data", HashEmbedder(), per_namespace=1) as alive,
        served(settings, alive.services) as (_, line),
    ):
        first = await Talk.open(line)
        await first.until("started")
        refusal = await end_of(await Talk.open(line))
        assert (refusal.reason, refusal.metadata) == ("OVERLOADED", {"limit": "generation.max_streams_per_namespace"})
        assert refusal.retry_after
        await (await Talk.open(line, scope={"namespace": "other", "user": "ann"})).finish()
        await first.finish()
        await _taken_again(line)


async def _taken_again(line: grpc.aio.Channel) -> None:
    """A stream counts until the server has cleaned up after it, a moment after the client was told of its end."""
    async with asyncio.timeout(10):
        while True:
            try:
                await (await Talk.open(line)).finish()
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    raise
                await asyncio.sleep(0.02)
            else:
                return


async def test_drain_tells_every_stream_and_waits_for_those_that_finish(alive: Live, settings: ServerSettings) -> None:
    async with served(settings, alive.services) as (server, line):
        talks = [await Talk.open(line) for _ in range(10)]
        for talk in talks:
            await talk.until("started")
        draining = asyncio.create_task(server.drain(5))
        for talk in talks:
            assert (await talk.until("draining")).draining.grace.ToTimedelta().total_seconds() == 4.5
        refusal = await end_of(await Talk.open(line))
        assert refusal.reason == "DRAINING"
        for talk in talks:
            await talk.write(SENTENCE)
            await talk.flush()
            await talk.finish()
        began = time.monotonic()
        await draining
        assert time.monotonic() - began < 1


async def test_drain_does_not_wait_longer_than_the_grace_for_streams_that_never_finish(
    alive: Live, settings: ServerSettings
) -> None:
    async with served(settings, alive.services) as (server, line):
        talks = [await Talk.open(line) for _ in range(5)]
        for talk in talks:
            await talk.until("started")
        began = time.monotonic()
        draining = asyncio.create_task(server.drain(0.5))
        for talk in talks:
            refusal = await end_of(talk)
            assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
            assert refusal.retry_after
        assert 0.3 < time.monotonic() - began < 0.7
        await draining
        assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("method", ["Recall", "RecallOnce"])
async def test_recall_that_is_given_up_stops_the_embedder(
    tmp_path: Path, settings: ServerSettings, method: str
) -> None:
    (tmp_path / "data").mkdir()
    embedder = StoppableEmbedder()
    async with live(tmp_path / "data", embedder) as alive, served(settings, alive.services) as (_, line):
        request = getattr(pb, f"{method}Request")(scope={"user": "ann"}, query={"text": "grey cat"})
        call = getattr(Api(line).recall, method)(request)
        waiting = asyncio.ensure_future(call.read() if method == "Recall" else call)
        await embedder.entered.wait()
        call.cancel()
        async with asyncio.timeout(0.5):
            await embedder.stopped.wait()
        await asyncio.gather(waiting, return_exceptions=True)
