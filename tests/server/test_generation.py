"""Recall during generation: what a stream that goes well brings."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.scope import Scope
from memsidecar.v1 import generation_service_pb2 as pb
from memsidecar.v1 import memory_service_pb2
from tests.server.api import Api
from tests.server.live import Live, Talk, about, nothing_left
from tests.services.stack import ANN, TEAM, said, stored

TOPICS = (
    "Caroline adopted a grey cat called Biscuit.",
    "The mortgage on Elm Street is paid off in October.",
    "Grandmother keeps the violin in a walnut case.",
    "Peanuts make Robert ill within minutes.",
    "Summer trips always begin at the ferry harbour.",
    "Professor Okafor teaches astronomy on Mondays.",
    "Our old boat sank near the lighthouse.",
    "Yoghurt is bought from the farm next door.",
)
CHINESE = ("卡罗琳收养了一只叫饼干的灰猫。", "奶奶把小提琴放在核桃木盒子里。", "罗伯特一吃花生就会生病。")


async def told(talk: Talk, *texts: str) -> pb.Watermark:
    """Write these, each considered before the next."""
    mark = pb.Watermark()
    for text in texts:
        await talk.write(text)
        mark = await talk.flush()
    return mark


async def test_text_brings_up_what_it_is_about_each_memory_once(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    talk = await Talk.open(line)
    started = (await talk.until("started")).started
    assert (started.max_hits, started.initial_credit, started.max_total_hits) == (5, 16, 64)
    assert (started.max_total_tokens, started.trigger.min_chars) == (4096, 40)
    assert started.trigger.on_sentence_end
    assert started.revision.token
    assert started.stream_id
    await told(talk, *TOPICS, *TOPICS)
    assert sorted(talk.texts()) == sorted(TOPICS)
    first = talk.all("hit")[0]
    assert (first.trigger_seq, first.span_start, first.span_end) == (1, 0, len(TOPICS[0]))
    assert [hit.remaining_credit for hit in talk.all("hit")] == list(range(15, 7, -1))
    finished = await talk.finish(outcome=pb.GENERATION_OUTCOME_COMPLETED)
    assert (finished.hits_sent, finished.evaluated_seq, finished.retracted) == (8, 16, 0)
    assert not finished.remembered_memories
    await nothing_left(alive)


async def test_hit_comes_at_the_end_of_the_sentence_without_a_flush(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    talk = await Talk.open(line)
    await talk.write("Caroline adopted ", "a grey cat ", "called Biscuit. And", " then")
    hit = (await talk.until("hit")).hit
    assert hit.hit.text == TOPICS[0]
    assert hit.trigger_seq in (3, 4)
    await talk.finish()


async def test_text_in_chinese_is_followed_sentence_by_sentence(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *CHINESE, *TOPICS)
    talk = await Talk.open(line, min_confidence=0.2)
    await talk.write("卡罗琳收养了一只", "叫饼干的灰猫。")
    hit = (await talk.until("hit")).hit
    assert hit.hit.text == CHINESE[0]
    assert (hit.span_start, hit.span_end) == (0, len(CHINESE[0]))
    await told(talk, CHINESE[2], TOPICS[2])
    assert {CHINESE[2], TOPICS[2]} <= set(talk.texts())
    await talk.finish()


async def test_prompt_is_recalled_on_before_the_first_delta(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    talk = await Talk.open(line, prompt=about(TOPICS[3]))
    hit = (await talk.until("hit")).hit
    assert hit.hit.text == TOPICS[3]
    assert (hit.trigger_seq, hit.span_start, hit.span_end) == (0, 0, len(TOPICS[3]))
    await talk.finish()


async def test_first_sentence_is_an_answer_to_the_prompt(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    alone = await Talk.open(line)
    await told(alone, "In October.")
    assert alone.texts() == [TOPICS[1]]
    await alone.finish()
    talk = await Talk.open(line, prompt="When does grandmother take the violin out of its walnut case?")
    await told(talk, "In October.")
    assert talk.texts() == [TOPICS[2]]
    await told(talk, " The mortgage on Elm Street is paid off in October.")
    assert talk.texts() == [TOPICS[2], TOPICS[1]]
    await talk.finish()


async def test_twenty_deltas_and_finish_at_once_end_well_wherever_evaluation_is(
    alive: Live, line: grpc.aio.Channel
) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    talk = await Talk.open(line)
    await talk.write(*(TOPICS * 3)[:20])
    finished = await talk.finish()
    assert 0 <= finished.evaluated_seq <= 20
    assert finished.hits_sent == len(talk.texts())


async def test_credit_bounds_what_is_sent_and_more_brings_the_best(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    talk = await Talk.open(line, initial_credit=3)
    mark = await told(talk, *TOPICS[:5])
    assert len(talk.texts()) == 3
    assert mark.withheld_hits == 2
    await talk.say(credit={"hits": 1})
    assert (await talk.until("hit")).hit.hit.text == TOPICS[4]
    assert (await talk.flush()).withheld_hits == 1
    await talk.finish()


async def test_no_credit_at_the_start_waits_for_some(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    talk = await Talk.open(line, initial_credit=0)
    assert (await told(talk, TOPICS[0])).withheld_hits == 1
    assert talk.texts() == []
    await talk.say(credit={"hits": 5})
    hit = (await talk.until("hit")).hit
    assert (hit.hit.text, hit.remaining_credit) == (TOPICS[0], 4)
    await talk.finish()


async def test_rewound_text_is_written_anew(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    talk = await Talk.open(line)
    await told(talk, *TOPICS[:3])
    await talk.rewind(1)
    mark = await told(talk, TOPICS[5])
    assert (mark.seq, mark.rewinds) == (2, 1)
    assert {*TOPICS[:3], TOPICS[5]} == set(talk.texts())
    hit = talk.all("hit")[-1]
    assert (hit.trigger_seq, hit.span_end) == (2, len(TOPICS[0]) + len(TOPICS[5]))
    await talk.finish()


async def test_watermark_says_how_many_rewinds_the_server_has_taken(alive: Live, line: grpc.aio.Channel) -> None:
    talk = await Talk.open(line)
    mark = await told(talk, TOPICS[0])
    assert mark.HasField("rewinds")
    assert (mark.seq, mark.rewinds) == (1, 0)
    await talk.rewind(1)
    mark = await talk.flush()
    assert (mark.seq, mark.rewinds) == (1, 1), "also one that drops nothing"
    await talk.rewind(0)
    mark = await talk.flush()
    assert (mark.seq, mark.rewinds) == (0, 2)
    await talk.finish()


async def test_stream_that_replaces_another_goes_on_counting_and_sends_nothing_known(
    alive: Live, line: grpc.aio.Channel
) -> None:
    memories = stored(await alive.stack.remember(ANN, *TOPICS))
    known = f"namespaces/acme/users/ann/memories/{memories[0].id}"
    talk = await Talk.open(line, first_seq=21, known_memories=[known])
    mark = await told(talk, TOPICS[0], TOPICS[1])
    assert mark.seq == 22
    assert talk.texts() == [TOPICS[1]]
    assert talk.all("hit")[0].trigger_seq == 22
    await talk.finish()


async def test_totals_bound_the_stream(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    few = await Talk.open(line, max_total_hits=2)
    await told(few, *TOPICS)
    assert (await few.finish()).hits_sent == 2
    short = await Talk.open(line, max_total_tokens=30)
    await told(short, *TOPICS)
    assert 1 <= (await short.finish()).hits_sent <= 3


async def test_options_hold_as_in_a_recall(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, said(TOPICS[0], session="now"), said(TOPICS[1], session="before"))
    await alive.stack.remember(TEAM, TOPICS[2])
    plain = await Talk.open(line)
    await told(plain, *TOPICS[:3])
    assert set(plain.texts()) == {f"Ann: {TOPICS[0]}", f"Ann: {TOPICS[1]}"}
    await plain.finish()
    options = {"filter": {"exclude_sessions": ["before"]}, "include_shared": True, "include_explanations": True}
    picked = await Talk.open(line, options=options)
    await told(picked, *TOPICS[:3])
    assert set(picked.texts()) == {f"Ann: {TOPICS[0]}", TOPICS[2]}
    assert picked.all("hit")[0].hit.explanation.components
    await picked.finish()


async def test_name_of_a_known_entity_is_reason_enough(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    trigger = {"on_sentence_end": False, "min_chars": 4000}
    talk = await Talk.open(line, trigger=trigger, min_confidence=0.1)
    await talk.write("as far as I know ", "Professor Okafor", " teaches")
    hit = (await talk.until("hit")).hit
    assert hit.hit.text == TOPICS[5]
    await talk.finish()


async def test_text_that_does_not_drift_is_not_searched_for(alive: Live, line: grpc.aio.Channel) -> None:
    still = await Talk.open(line, trigger={"min_drift": 0.9})
    moving = await Talk.open(line)
    for talk in (still, moving):
        await told(talk, TOPICS[0])
    await alive.stack.remember(ANN, TOPICS[0])
    for talk in (still, moving):
        await told(talk, TOPICS[0])
    assert moving.texts() == [TOPICS[0]]
    assert still.texts() == []
    for talk in (still, moving):
        await talk.finish()


async def test_without_the_embedder_words_find_it_and_the_watermark_says_so(
    alive: Live, line: grpc.aio.Channel
) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    embedder = alive.stack.embedder
    assert embedder is not None
    embedder.failure = ModelUnavailable("hash")
    talk = await Talk.open(line, min_confidence=0.0, options={"max_hits": 1})
    assert (await told(talk, TOPICS[4])).degraded
    assert talk.texts() == [TOPICS[4]]
    embedder.failure = None
    assert not (await told(talk, TOPICS[0])).degraded
    await talk.finish()


async def test_feedback_on_a_hit_counts(alive: Live, line: grpc.aio.Channel) -> None:
    memory = stored(await alive.stack.remember(ANN, *TOPICS))[0]
    name = f"namespaces/acme/users/ann/memories/{memory.id}"
    talk = await Talk.open(line)
    await told(talk, TOPICS[0])
    await talk.say(feedback={"memory": name, "kind": 1})
    await talk.finish()
    assert alive.stack.usages.of(ANN.partition, memory.id).usefulness > 0


async def test_feedback_on_a_memory_that_the_stream_before_has_sent_counts(alive: Live, line: grpc.aio.Channel) -> None:
    memory = stored(await alive.stack.remember(ANN, *TOPICS))[0]
    name = f"namespaces/acme/users/ann/memories/{memory.id}"
    talk = await Talk.open(line, known_memories=[name])
    await talk.say(feedback={"memory": name, "kind": 1})
    await talk.finish()
    assert alive.stack.usages.of(ANN.partition, memory.id).usefulness > 0


async def test_feedback_on_a_memory_that_was_purged_meanwhile_does_not_end_the_stream(
    alive: Live, line: grpc.aio.Channel
) -> None:
    memory = stored(await alive.stack.remember(ANN, *TOPICS))[0]
    name = f"namespaces/acme/users/ann/memories/{memory.id}"
    talk = await Talk.open(line)
    await told(talk, TOPICS[0])
    await Api(line).memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(name=name, purge=True))
    await talk.say(feedback={"memory": name, "kind": 1})
    assert (await talk.finish()).hits_sent == 1


async def test_what_was_sent_counts_as_recalled(alive: Live, line: grpc.aio.Channel) -> None:
    memories = stored(await alive.stack.remember(ANN, *TOPICS))
    talk = await Talk.open(line)
    await told(talk, TOPICS[0])
    await talk.finish()
    usages = alive.stack.usages
    assert usages.of(ANN.partition, memories[0].id).access_count == 1
    assert usages.of(ANN.partition, memories[1].id).access_count == 0


async def test_streams_of_two_users_see_their_own(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, TOPICS[0])
    await alive.stack.remember(Scope("acme", "ben"), TOPICS[1])
    ann, ben = await Talk.open(line), await Talk.open(line, scope={"namespace": "acme", "user": "ben"})
    await asyncio.gather(told(ann, *TOPICS[:2]), told(ben, *TOPICS[:2]))
    assert ann.texts() == [TOPICS[0]]
    assert ben.texts() == [TOPICS[1]]
    await asyncio.gather(ann.finish(), ben.finish())


@pytest.mark.parametrize("seconds", [0.004])
async def test_twenty_deltas_four_milliseconds_apart_are_all_considered(
    alive: Live, line: grpc.aio.Channel, seconds: float
) -> None:
    await alive.stack.remember(ANN, *TOPICS)
    talk = await Talk.open(line)
    for text in (TOPICS * 3)[:20]:
        await talk.write(text)
        await asyncio.sleep(seconds)
    assert (await talk.flush()).seq == 20
    finished = await talk.finish()
    assert finished.evaluated_seq == 20
    assert finished.evaluations <= 20
