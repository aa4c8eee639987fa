"""Recall while a model writes, against a server that follows a script."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Backoff,
    DeadlineExceeded,
    Draining,
    Fact,
    FeedbackKind,
    Filter,
    Hit,
    Memory,
    MemoryKind,
    Recalled,
    Retracted,
    RetractionReason,
    TextSource,
    Tier,
    Trigger,
    Watermark,
)
from memsidecar_client.v1.generation_service_pb2 import RecallDuringResponse

from tests.clients.python.scripted_generation import ScriptedGeneration, Stream, oblige


async def test_start_carries_every_option_and_terms_come_back(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with writer.generation(
        "What now?",
        conversation="namespaces/acme/users/ana/sessions/s",
        known=["k1", Hit(Memory(Fact("x"), name="k2"), 0.5, Tier.VECTOR)],
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
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    tokens = [f"t{n} " for n in range(500)]
    async with writer.generation() as generation:
        for token in tokens:
            await generation.feed(token)
    stream = await server.stream(1)
    pieces = stream.every("text")
    assert stream.text == "".join(tokens)
    assert len(pieces) < 100
    assert [piece.seq for piece in pieces] == list(range(1, len(pieces) + 1))
    assert stream.kinds()[-1] == "finish"


async def test_sources_are_kept_apart(writer: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async with writer.generation() as generation:
        await generation.feed("hm, ", TextSource.REASONING)
        await generation.feed("well", TextSource.REASONING)
        await generation.feed("Yes")
    pieces = (await server.stream(1)).every("text")
    assert [(piece.text, piece.source) for piece in pieces] == [("hm, well", 2), ("Yes", 1)]


async def test_flush_waits_for_all_that_was_fed_and_the_hits_before_it(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush")
        await stream.send(watermark={"seq": 0})
        await stream.hit("a", trigger_seq=1, span_start=0, span_end=5, remaining_credit=15)
        await stream.send(watermark={"seq": 1, "coalesced": 2, "withheld_hits": 3, "degraded": True})
        await oblige(stream)

    server.scripts = [script]
    async with writer.generation() as generation:
        await generation.feed("no end")
        assert await generation.flush() == Watermark(1, 2, 3, True)
        assert [hit.memory.name for hit in generation.memories] == ["a"]
        recalled, watermark = generation.new_events()
    assert isinstance(recalled, Recalled)
    assert (recalled.trigger_seq, recalled.span, recalled.remaining_credit) == (1, (0, 5), 15)
    assert watermark == Watermark(1, 2, 3, True)


async def test_flush_that_is_not_answered_runs_out_without_harm(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush", 2)
        await oblige(stream)

    server.scripts = [script]
    async with writer.generation() as generation:
        await generation.feed("a")
        with pytest.raises(DeadlineExceeded, match="considered"):
            await generation.flush(timeout=0.05)
        assert (await generation.flush()).seq == 1


async def test_events_are_iterated_until_the_generation_is_over(
    writer: AsyncMemsidecar, server: ScriptedGeneration
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
    async with writer.generation("q") as generation:

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
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush")
        await stream.hit("a")
        await oblige(stream)

    server.scripts = [script]
    async with writer.generation() as generation:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(generation), 0.02)
        await generation.flush()
        assert isinstance(await anext(generation), Recalled)


async def test_updated_memory_comes_once_more_and_a_doubled_one_does_not(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.hit("m", "before")
        await stream.hit("m", "doubled")
        await stream.send(retracted={"memory": "m", "reason": 2})
        await stream.hit("m", "after")
        await oblige(stream)

    server.scripts = [script]
    async with writer.generation() as generation:
        await generation.flush()
        texts = [event.hit.text for event in generation.new_events() if isinstance(event, Recalled)]
        assert texts == ["before", "after"]
        assert [hit.text for hit in generation.memories] == ["after"]


async def test_credit_is_renewed_as_memories_are_taken(writer: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        for number in range(4):
            await stream.hit(f"m{number}")
        await oblige(stream)

    server.scripts = [script]
    async with writer.generation(initial_credit=4) as generation:
        await generation.flush()
        stream = await server.stream(1)
        assert stream.every("credit") == []
        assert len(generation.new_memories()) == 4
    assert sum(credit.hits for credit in stream.every("credit")) == 4


async def test_credit_is_left_to_the_application_that_wants_it(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.hit("a")
        await oblige(stream)

    server.scripts = [script]
    async with writer.generation(initial_credit=1, auto_credit=False) as generation:
        await generation.flush()
        generation.new_events()
        await generation.credit(7)
        with pytest.raises(ValueError, match="1 to 1000"):
            await generation.credit(0)
    assert [credit.hits for credit in (await server.stream(1)).every("credit")] == [7]


async def test_rewind_drops_pieces_and_the_next_one_takes_their_number(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with writer.generation() as generation:
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
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with writer.generation() as generation:
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


async def test_backoff_makes_pieces_larger_and_rarer(writer: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.send(backoff={"min_chars": 10, "min_interval": {"seconds": 60}})
        await oblige(stream)

    server.scripts = [script]
    async with writer.generation() as generation:
        assert isinstance(await anext(generation), Backoff)
        for _ in range(50):
            await generation.feed("A sentence. ")
        await asyncio.sleep(0.05)
    pieces = (await server.stream(1)).every("text")
    assert len(pieces) == 2, "the first at once, all others held back until the end"


async def test_feedback_goes_as_a_call_that_is_answered(writer: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    own, shared = "namespaces/acme/users/ana/memories/a", "namespaces/acme/memories/b"
    async with writer.generation() as generation:
        await generation.feedback(own, FeedbackKind.USED)
        await generation.feedback(shared, FeedbackKind.WRONG)
    assert [(each.items[0].memory, each.items[0].kind, each.scope.user) for each in server.feedback] == [
        (own, 1, "ana"),
        (shared, 3, ""),
    ]
