"""Recall during generation: what finish keeps, in the session and in long-term memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from memsidecar.domain.draft import Request
from memsidecar.domain.errors import StoreFull
from memsidecar.domain.generation.values import Exchange, GenerationOutcome, Source
from memsidecar.domain.memory import Episode, Memory
from memsidecar.domain.memory import Outcome as HowItEnded
from memsidecar.domain.recall import Filter
from memsidecar.domain.session import Role
from memsidecar.ports.sessions import SessionKey
from memsidecar.server.app import ServerSettings
from memsidecar.v1 import generation_service_pb2 as pb
from memsidecar.v1.error_reason_pb2 import ErrorReason
from tests.doubles.hash_embedder import HashEmbedder
from tests.server.live import Live, Talk, live, served
from tests.server.test_generation_ends import end_of
from tests.services.stack import ANN, said
from tests.session_servers import RunningServer

KEY = SessionKey(ANN.partition, "chat")
SESSION = "namespaces/acme/users/ann/sessions/chat"
PROMPT, ANSWER = "What may Robert eat?", ("Anything but peanuts. ", "He has been ill before.")


@pytest.fixture
async def alive(tmp_path: Path, session_server: RunningServer) -> AsyncIterator[Live]:
    (tmp_path / "data").mkdir()
    async with live(tmp_path / "data", HashEmbedder(), session_server.url) as made:
        await made.sessions.create(ANN, "chat", {}, None, None, Request())
        yield made
        await made.sessions.delete(KEY, Request())


@pytest.fixture
async def line(alive: Live, settings: ServerSettings) -> AsyncIterator[grpc.aio.Channel]:
    async with served(settings, alive.services) as (_, opened):
        yield opened


async def spoken(line: grpc.aio.Channel, **start: Any) -> Talk:
    talk = await Talk.open(line, prompt=PROMPT, **start)
    await talk.until("started")
    await talk.write("thinking of nuts", verbatim=True, source=pb.TEXT_SOURCE_REASONING)
    await talk.write(ANSWER[0], verbatim=True)
    await talk.write("{result: none}", source=pb.TEXT_SOURCE_TOOL)
    await talk.write(ANSWER[1], verbatim=True)
    return talk


async def memories(alive: Live) -> list[Memory]:
    page = await alive.stack.memories.list(ANN, Filter(), False, None, 100)
    return [memory for memory in page.memories if isinstance(memory.body, Episode)]


async def messages(alive: Live) -> list[tuple[Role, str]]:
    return [(message.role, message.text) for message in await alive.sessions.messages(KEY, 0, 100)]


async def test_finish_hands_prompt_and_answer_to_session_and_memory(alive: Live, line: grpc.aio.Channel) -> None:
    talk = await spoken(line, session=SESSION)
    finished = await talk.finish(outcome=pb.GENERATION_OUTCOME_COMPLETED, remember=True)
    assert await messages(alive) == [(Role.USER, PROMPT), (Role.ASSISTANT, "".join(ANSWER))]
    [memory] = await memories(alive)
    assert memory.text == f"User: {PROMPT}\nAssistant: {''.join(ANSWER)}"
    assert memory.scope.session == "chat"
    assert list(finished.remembered_memories) == [f"namespaces/acme/users/ann/memories/{memory.id}"]
    assert finished.revision.token
    recalled = await alive.stack.recall(ANN, "What may Robert eat?")
    assert recalled.hits[0].memory.id == memory.id


async def test_finish_without_remember_keeps_nothing(alive: Live, line: grpc.aio.Channel) -> None:
    finished = await (await spoken(line, session=SESSION)).finish(outcome=1)
    assert not finished.remembered_memories
    assert await messages(alive) == []
    assert await memories(alive) == []


async def test_without_a_session_it_is_remembered_all_the_same(alive: Live, line: grpc.aio.Channel) -> None:
    await (await spoken(line)).finish(outcome=pb.GENERATION_OUTCOME_STOPPED, remember=True)
    [memory] = await memories(alive)
    assert isinstance(memory.body, Episode)
    assert memory.body.outcome is HowItEnded.PARTIAL
    assert await messages(alive) == []


async def test_silence_is_not_remembered(alive: Live, line: grpc.aio.Channel) -> None:
    talk = await Talk.open(line, session=SESSION)
    await talk.write(" \n")
    assert not (await talk.finish(remember=True)).remembered_memories
    assert await memories(alive) == []


async def test_same_generation_again_is_kept_once(alive: Live, line: grpc.aio.Channel) -> None:
    once = await (await spoken(line, session=SESSION, generation_id="g1")).finish(remember=True)
    again = await (await spoken(line, session=SESSION, generation_id="g1")).finish(remember=True)
    assert list(again.remembered_memories) == list(once.remembered_memories)
    assert len(await messages(alive)) == 2
    assert len(await memories(alive)) == 1


async def test_retry_completes_what_an_earlier_try_has_begun(alive: Live, line: grpc.aio.Channel) -> None:
    alive.stack.ledger.failure = StoreFull("ledger")
    talk = await spoken(line, session=SESSION, generation_id="g1")
    await talk.say(finish={"remember": True})
    assert (await end_of(talk)).reason == "STORE_FULL"
    alive.stack.ledger.failure = None
    finished = await (await spoken(line, session=SESSION, generation_id="g1")).finish(remember=True)
    assert len(finished.remembered_memories) == 1
    assert len(await messages(alive)) == 2
    assert len(await memories(alive)) == 1


async def test_session_that_has_ended_or_is_not_there_is_refused_at_the_start(
    alive: Live, line: grpc.aio.Channel
) -> None:
    assert (await end_of(await Talk.open(line, session=f"{SESSION}x"))).reason == "RESOURCE_NOT_FOUND"
    await alive.sessions.end(KEY, Request())
    assert (await end_of(await Talk.open(line, session=SESSION))).reason == "SESSION_ENDED"


@pytest.mark.parametrize("how", ["ended", "deleted"])
async def test_an_exchange_outlives_its_session(alive: Live, line: grpc.aio.Channel, how: str) -> None:
    talk = await spoken(line, session=SESSION)
    if how == "ended":
        await alive.sessions.end(KEY, Request())
    else:
        await alive.sessions.delete(KEY, Request())
    finished = await talk.finish(remember=True)
    reasons = {"ended": "ERROR_REASON_SESSION_ENDED", "deleted": "ERROR_REASON_RESOURCE_NOT_FOUND"}
    assert ErrorReason.Name(finished.session_error) == reasons[how]
    [memory] = await memories(alive)
    assert memory.text == f"User: {PROMPT}\nAssistant: {''.join(ANSWER)}"
    assert list(finished.remembered_memories) == [f"namespaces/acme/users/ann/memories/{memory.id}"]
    if how == "ended":
        assert await messages(alive) == []
    else:
        await alive.sessions.create(ANN, "chat", {}, None, None, Request())


async def test_a_session_that_has_got_the_exchange_already_may_end_before_the_retry(
    alive: Live, line: grpc.aio.Channel
) -> None:
    alive.stack.ledger.failure = StoreFull("ledger")
    talk = await spoken(line, session=SESSION, generation_id="g1")
    await talk.say(finish={"remember": True})
    assert (await end_of(talk)).reason == "STORE_FULL"
    alive.stack.ledger.failure = None
    talk = await spoken(line, session=SESSION, generation_id="g1")
    await alive.sessions.end(KEY, Request())
    finished = await talk.finish(remember=True)
    assert not finished.session_error
    [memory] = await memories(alive)
    assert memory.provenance[0].messages == ("1", "2")


async def test_what_the_user_types_meanwhile_is_kept_in_its_place(alive: Live, line: grpc.aio.Channel) -> None:
    talk = await Talk.open(line, prompt="Plan a trip", session=SESSION)
    await talk.write("Sure: ", verbatim=True)
    await talk.write("hm", source=pb.TEXT_SOURCE_REASONING, verbatim=True)
    await talk.write("I'm allergic to cats.", source=pb.TEXT_SOURCE_USER, verbatim=True)
    await talk.write(" ", source=pb.TEXT_SOURCE_TOOL, verbatim=True)
    await talk.write("Noted. ", verbatim=True)
    await talk.write(" \n", source=pb.TEXT_SOURCE_USER, verbatim=True)
    await talk.write("No cats.", verbatim=True)
    await talk.finish(remember=True)
    assert await messages(alive) == [
        (Role.USER, "Plan a trip"),
        (Role.ASSISTANT, "Sure: "),
        (Role.USER, "I'm allergic to cats."),
        (Role.ASSISTANT, "Noted. No cats."),
    ]
    [memory] = await memories(alive)
    assert memory.text == (
        "User: Plan a trip\nAssistant: Sure: \nUser: I'm allergic to cats.\nAssistant: Noted. No cats."
    )


async def test_memories_of_the_session_are_not_sent_to_it(alive: Live, line: grpc.aio.Channel) -> None:
    mine, before = "Peanuts make Robert ill within minutes.", "Our old boat sank near the lighthouse."
    await alive.stack.remember(ANN, said(mine, session="chat"), said(before, session="before"))
    talk = await Talk.open(line, session=SESSION)
    for text in (mine, before):
        await talk.write(text)
        await talk.flush()
    assert talk.texts() == [f"Ann: {before}"]
    await talk.finish()


async def test_answer_longer_than_a_memory_is_kept_in_parts(alive: Live) -> None:
    answer = "长" * 300_000
    kept = await alive.keep(ANN, "chat", "g", Exchange("", ((Source.MODEL, answer),)), GenerationOutcome.COMPLETED, 0)
    assert kept is not None
    assert len(kept.memories) == 2
    assert "".join(text for _, text in await messages(alive)) == answer
    assert "".join(memory.text for memory in await memories(alive)) == answer


async def test_part_of_an_answer_that_says_nothing_is_not_kept(alive: Live) -> None:
    answer = "It is in the attic." + " " * 600_000
    kept = await alive.keep(ANN, "chat", "g", Exchange("", ((Source.MODEL, answer),)), GenerationOutcome.COMPLETED, 0)
    assert kept is not None
    assert [text.strip() for _, text in await messages(alive)] == ["It is in the attic."]
    assert [memory.text.strip() for memory in await memories(alive)] == ["It is in the attic."]
