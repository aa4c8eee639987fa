"""Recall while a model writes, against a server that follows a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Backoff,
    Cancelled,
    DeadlineExceeded,
    Draining,
    FailedPrecondition,
    FeedbackKind,
    Filter,
    GenerationOutcome,
    InvalidArgument,
    MemoryKind,
    Recalled,
    Retracted,
    RetractionReason,
    TextSource,
    Tier,
    Trigger,
    Unavailable,
    Watermark,
)
from memsidecar_client.v1.generation_service_pb2 import RecallDuringResponse

from tests.clients.python.scripted_generation import ScriptedGeneration, Stream, oblige


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ScriptedGeneration]:
    server = ScriptedGeneration(tmp_path)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def client(server: ScriptedGeneration) -> AsyncIterator[AsyncMemsidecar]:
    async with AsyncMemsidecar(server.target, namespace="acme", user="ana") as client:
        yield client
    await server.stop()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        _, left = await asyncio.wait(left, timeout=2)
    assert not left, f"the client left tasks behind: {left}"


async def test_start_carries_every_option_and_terms_come_back(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with client.generation(
        "What now?",
        conversation="namespaces/acme/users/ana/sessions/s",
        known=["k1"],
        trigger=Trigger(40, timedelta(milliseconds=30), on_sentence_end=False, on_entity_mention=True, min_drift=0.25),
        min_confidence=0.5,
        tiers=[Tier.VECTOR],
        filter=Filter(kinds=(MemoryKind.FACT,)),
        max_hits=3,
        max_total_hits=9,
        max_total_tokens=99,
        initial_credit=4,
        min_revision="r0",
        explain=True,
        include_shared=True,
        profile="chat",
        weights={"keyword": 2.0},
        diversity=0.5,
        only_named_time=True,
        time_zone="Asia/Shanghai",
        generation_id="g1",
        session="narrow",
    ) as generation:
        terms = generation.terms
    start = (await server.stream(1)).start
    assert {field.name for field, _ in start.ListFields()} == set(start.DESCRIPTOR.fields_by_name) - {"first_seq"}
    assert (start.scope.user, start.scope.session, start.session) == (
        "ana",
        "narrow",
        "namespaces/acme/users/ana/sessions/s",
    )
    assert not start.options.HasField("as_of")
    assert (terms.stream_id, terms.initial_credit, terms.max_total_hits, terms.revision) == ("s", 4, 9, "r1")


async def test_tokens_are_joined_to_pieces_and_nothing_is_lost(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    tokens = [f"t{n} " for n in range(500)]
    async with client.generation() as generation:
        for token in tokens:
            await generation.feed(token)
    stream = await server.stream(1)
    pieces = stream.every("text")
    assert stream.text == "".join(tokens)
    assert len(pieces) < 100
    assert [piece.seq for piece in pieces] == list(range(1, len(pieces) + 1))
    assert stream.kinds()[-1] == "finish"


async def test_sources_are_kept_apart(client: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async with client.generation() as generation:
        await generation.feed("hm, ", TextSource.REASONING)
        await generation.feed("well", TextSource.REASONING)
        await generation.feed("Yes")
    pieces = (await server.stream(1)).every("text")
    assert [(piece.text, piece.source) for piece in pieces] == [("hm, well", 2), ("Yes", 1)]


async def test_flush_waits_for_all_that_was_fed_and_the_hits_before_it(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush")
        await stream.send(watermark={"seq": 0})
        await stream.hit("a", trigger_seq=1, span_start=0, span_end=5, remaining_credit=15)
        await stream.send(watermark={"seq": 1, "coalesced": 2, "withheld_hits": 3, "degraded": True})
        await oblige(stream)

    server.scripts = [script]
    async with client.generation() as generation:
        await generation.feed("no end")
        assert await generation.flush() == Watermark(1, 2, 3, True)
        assert [hit.memory.name for hit in generation.memories] == ["a"]
        recalled, watermark = generation.new_events()
    assert isinstance(recalled, Recalled)
    assert (recalled.trigger_seq, recalled.span, recalled.remaining_credit) == (1, (0, 5), 15)
    assert watermark == Watermark(1, 2, 3, True)


async def test_flush_that_is_not_answered_runs_out_without_harm(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush", 2)
        await oblige(stream)

    server.scripts = [script]
    async with client.generation() as generation:
        await generation.feed("a")
        with pytest.raises(DeadlineExceeded, match="considered"):
            await generation.flush(timeout=0.05)
        assert (await generation.flush()).seq == 1


async def test_events_are_iterated_until_the_generation_is_over(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.hit("old")
        successor = {"name": "new", "fact": {"statement": "n"}}
        await stream.send(retracted={"memory": "old", "reason": 1, "successor": successor})
        await stream.send(retracted={"memory": "never sent", "reason": 3})
        await stream.send(backoff={"min_chars": 10, "min_interval": {"nanos": 1_000_000}, "reason": "busy"})
        await stream.send(draining={"grace": {"seconds": 2}})
        unknown = RecallDuringResponse()
        unknown.MergeFromString(b"\xf2\x06\x03abc")  # field 110
        await stream._context.write(unknown)
        await oblige(stream)

    server.scripts = [script]
    events = []
    async with client.generation("q") as generation:

        async def read() -> None:
            events.extend([event async for event in generation])

        reader = asyncio.create_task(read())
        summary = await generation.finish()
    await reader
    recalled, retracted, backoff, draining = events
    assert isinstance(recalled, Recalled)
    assert isinstance(retracted, Retracted)
    assert (retracted.memory, retracted.reason, retracted.hit) == ("old", RetractionReason.SUPERSEDED, recalled.hit)
    assert retracted.successor is not None
    assert retracted.successor.name == "new"
    assert backoff == Backoff(10, timedelta(milliseconds=1), "busy")
    assert draining == Draining(timedelta(seconds=2))
    assert generation.memories == ()
    assert (summary.recalled, summary.retracted, summary.evaluations, summary.revision) == (1, 1, 3, "r2")
    assert summary == generation.result == await generation.finish()


async def test_waiting_for_an_event_may_time_out_without_harm(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush")
        await stream.hit("a")
        await oblige(stream)

    server.scripts = [script]
    async with client.generation() as generation:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(generation), 0.02)
        await generation.flush()
        assert isinstance(await anext(generation), Recalled)


async def test_updated_memory_comes_once_more_and_a_doubled_one_does_not(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.hit("m", "before")
        await stream.hit("m", "doubled")
        await stream.send(retracted={"memory": "m", "reason": 2})
        await stream.hit("m", "after")
        await oblige(stream)

    server.scripts = [script]
    async with client.generation() as generation:
        await generation.flush()
        texts = [event.hit.text for event in generation.new_events() if isinstance(event, Recalled)]
        assert texts == ["before", "after"]
        assert [hit.text for hit in generation.memories] == ["after"]


async def test_credit_is_renewed_as_memories_are_taken(client: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        for number in range(4):
            await stream.hit(f"m{number}")
        await oblige(stream)

    server.scripts = [script]
    async with client.generation(initial_credit=4) as generation:
        await generation.flush()
        stream = await server.stream(1)
        assert stream.every("credit") == []
        assert len(generation.new_memories()) == 4
    assert sum(credit.hits for credit in stream.every("credit")) == 4


async def test_credit_is_left_to_the_application_that_wants_it(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.hit("a")
        await oblige(stream)

    server.scripts = [script]
    async with client.generation(initial_credit=1, auto_credit=False) as generation:
        await generation.flush()
        generation.new_events()
        await generation.credit(7)
        with pytest.raises(ValueError, match="1 to 1000"):
            await generation.credit(0)
    assert [credit.hits for credit in (await server.stream(1)).every("credit")] == [7]


async def test_rewind_drops_pieces_and_the_next_one_takes_their_number(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with client.generation() as generation:
        for text in ("one.", "two.", "three."):
            await generation.feed(text)
            await generation.flush()
        assert (generation.seq, generation.length) == (3, 14)
        await generation.feed("never sent")
        await generation.rewind(1)
        await generation.feed("2.")
        await generation.flush()
        assert (generation.seq, generation.length) == (2, 6)
        with pytest.raises(ValueError, match="last piece of text is 2"):
            await generation.rewind(3)
    stream = await server.stream(1)
    assert [rewind.seq for rewind in stream.every("rewind")] == [1]
    assert [(piece.seq, piece.text) for piece in stream.every("text")] == [
        (1, "one."),
        (2, "two."),
        (3, "three."),
        (2, "2."),
    ]


async def test_rewind_to_a_length_counts_code_points_and_cuts_inside_a_piece(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with client.generation() as generation:
        await generation.feed("她喜欢👍🏽茶。")
        await generation.flush()
        await generation.feed("Really.")
        await generation.flush()
        await generation.rewind_to(4)
        assert generation.length == 4
        await generation.feed("!")
        await generation.rewind_to(5)
        with pytest.raises(ValueError, match="there are 5"):
            await generation.rewind_to(6)
    stream = await server.stream(1)
    assert [rewind.seq for rewind in stream.every("rewind")] == [0]
    assert [(piece.seq, piece.text) for piece in stream.every("text")][2:] == [(1, "她喜欢👍!")]


async def test_backoff_makes_pieces_larger_and_rarer(client: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.send(backoff={"min_chars": 10, "min_interval": {"seconds": 60}})
        await oblige(stream)

    server.scripts = [script]
    async with client.generation() as generation:
        assert isinstance(await anext(generation), Backoff)
        for _ in range(50):
            await generation.feed("A sentence. ")
        await asyncio.sleep(0.05)
    pieces = (await server.stream(1)).every("text")
    assert len(pieces) == 2, "the first at once, all others held back until the end"


async def test_feedback_goes_as_a_call_that_is_answered(client: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    own, shared = "namespaces/acme/users/ana/memories/a", "namespaces/acme/memories/b"
    async with client.generation() as generation:
        await generation.feedback(own, FeedbackKind.USED)
        await generation.feedback(shared, FeedbackKind.WRONG)
    assert [(each.items[0].memory, each.items[0].kind, each.scope.user) for each in server.feedback] == [
        (own, 1, "ana"),
        (shared, 3, ""),
    ]


async def test_finish_says_how_it_ended_and_what_to_remember(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with client.generation(remember=True):
        pass
    async with client.generation(remember=True) as generation:
        await generation.finish(GenerationOutcome.STOPPED, remember=False)
        with pytest.raises(RuntimeError, match="finished"):
            await generation.feed("late")
    first, second = server.streams
    assert [(finish.outcome, finish.remember) for finish in first.every("finish") + second.every("finish")] == [
        (1, True),
        (2, False),
    ]


async def test_leaving_by_an_exception_abandons_and_cancels(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def fail() -> None:
        async with client.generation() as generation:
            await generation.feed("a.")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    stream = await server.stream(1)
    await asyncio.wait_for(stream.closed.wait(), 10)
    assert "finish" not in stream.kinds()


async def test_cancelling_the_application_leaves_nothing_running(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def use() -> None:
        async with client.generation() as generation:
            async for _ in generation:
                pass

    task = asyncio.create_task(use())
    stream = await server.stream(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(stream.closed.wait(), 10)


async def test_refused_start_raises_on_entering(client: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async def refuse(stream: Stream) -> None:
        await stream.abort(grpc.StatusCode.INVALID_ARGUMENT, "prompt is too long", "INVALID_FIELD")

    server.scripts = [refuse]
    with pytest.raises(InvalidArgument, match="too long") as caught:
        await client.generation("x").__aenter__()
    assert caught.value.reason == "INVALID_FIELD"


async def test_violation_is_raised_by_whatever_comes_next_and_by_leaving(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.hit("before")
        await stream.until("text")
        await stream.abort(grpc.StatusCode.INVALID_ARGUMENT, "gap", "PROTOCOL_VIOLATION")

    server.scripts = [script]
    generation = await client.generation().__aenter__()
    await generation.feed("a.")
    assert isinstance(await anext(generation), Recalled)
    with pytest.raises(InvalidArgument, match="gap"):
        await anext(generation)
    assert [event async for event in generation] == []
    with pytest.raises(InvalidArgument, match="gap"):
        await generation.feed("b")
    with pytest.raises(InvalidArgument, match="gap"):
        await generation.flush()
    with pytest.raises(InvalidArgument, match="gap"):
        await generation.__aexit__(None, None, None)
    assert len(server.streams) == 1


async def test_memory_that_fails_does_not_interrupt_the_model_that_is_followed(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until_text("a.")
        await stream.abort(grpc.StatusCode.FAILED_PRECONDITION, "gone")

    async def model() -> AsyncIterator[str]:
        yield "a."
        with pytest.raises(FailedPrecondition):
            await anext(generation)
        yield "b."

    server.scripts = [script]
    generation = await client.generation().__aenter__()
    assert [chunk async for chunk in generation.follow(model())] == ["a.", "b."]
    with pytest.raises(FailedPrecondition, match="gone"):
        await generation.__aexit__(None, None, None)


async def test_event_that_cannot_be_read_is_an_error_not_a_hang(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.send(hit={"hit": {"memory": {"name": "m", "create_time": {"seconds": 10**12}}}})
        await oblige(stream)

    server.scripts = [script]
    with pytest.raises(OverflowError):
        async with client.generation() as generation:
            await generation.flush()


async def test_deadline_for_the_whole_generation_is_kept(client: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    generation = await client.generation(timeout=0.2).__aenter__()
    with pytest.raises(DeadlineExceeded):
        await anext(generation)
    with pytest.raises(DeadlineExceeded):
        await generation.__aexit__(None, None, None)


async def test_closing_the_client_ends_a_generation_with_a_typed_error(server: ScriptedGeneration) -> None:
    client = AsyncMemsidecar(server.target)
    generation = await client.generation().__aenter__()
    waiting = asyncio.create_task(generation.next_event())
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(Cancelled):
        await waiting
    with pytest.raises(Cancelled):
        await generation.__aexit__(None, None, None)


async def test_reason_of_the_server_is_not_lost_to_a_message_that_is_being_sent(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    """Both end at once now and then, and grpc.aio keeps the latter: many rounds, and large messages, meet it."""

    async def refuse(stream: Stream) -> None:
        await stream.started()
        await stream.until("text")
        await stream.abort(grpc.StatusCode.FAILED_PRECONDITION, "not now")

    async def write_much() -> None:
        async with client.generation() as generation:
            for _ in range(20):
                await generation.feed("x" * 40_000 + ".")
            await generation.flush()

    server.scripts = [refuse] * 100
    for _ in range(100):
        with pytest.raises(FailedPrecondition, match="not now"):
            await write_much()
    assert len(server.streams) == 100


async def test_events_nobody_takes_do_not_pile_up(client: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        for number in range(1000):
            await stream.send(watermark={"seq": 0, "coalesced": number})
        await oblige(stream)

    server.scripts = [script]
    async with client.generation() as generation:
        await generation.feed("a")
        await generation.flush()
        assert generation.new_events() == [Watermark(1)]


async def test_text_without_end_is_refused_before_it_fills_the_memory(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def hang(stream: Stream) -> None:
        await stream.started()
        await asyncio.sleep(60)

    async def model() -> AsyncIterator[str]:
        yield "more"

    page = "茶" * 10_000
    server.scripts = [hang]
    generation = await client.generation().__aenter__()
    for _ in range(34):
        await generation.feed(page)
    await generation.rewind_to(20_000)
    for _ in range(32):
        await generation.feed(page)
    with pytest.raises(InvalidArgument, match="another generation"):
        await generation.feed(page)
    assert [chunk async for chunk in generation.follow(model())] == ["more"]
    with pytest.raises(InvalidArgument, match="another generation"):
        await generation.__aexit__(None, None, None)


async def test_callback_takes_the_events_and_what_it_raises_ends_the_generation(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.hit("a")
        await oblige(stream)

    seen: list[Any] = []
    server.scripts = [script, script]
    async with client.generation(on_event=seen.append) as generation:
        await generation.flush()
        assert generation.new_events() == []
    assert [type(event) for event in seen] == [Recalled, Watermark]

    def fail(event: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with client.generation(on_event=fail) as generation:
            await generation.flush()


async def test_generation_is_used_inside_its_block_and_once(
    client: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    generation = client.generation()
    with pytest.raises(RuntimeError, match="enter"):
        await generation.feed("a")
    with pytest.raises(RuntimeError, match="enter"):
        await generation.next_event()
    async with generation:
        with pytest.raises(ValueError, match="surrogates"):
            await generation.feed("\ud83d")
    with pytest.raises(RuntimeError, match="once"):
        await generation.__aenter__()


async def test_sidecar_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with AsyncMemsidecar(f"unix:{tmp_path}/none.sock", timeout=0.2) as client:
        with pytest.raises(DeadlineExceeded, match="is the sidecar running"):
            await client.generation().__aenter__()
    async with AsyncMemsidecar(f"unix:{tmp_path}/none.sock", wait_for_ready=False) as client:
        with pytest.raises(Unavailable):
            await client.generation().__aenter__()
