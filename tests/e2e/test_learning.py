"""Learning from conversations in the real process: over a model that is away, kills and restarts."""

from __future__ import annotations

import asyncio

import pytest
from memsidecar_client import AsyncMemsidecar, ConversationTurn, Job, JobState, MemoryKind, Message, NotFound, Role
from memsidecar_client import Filter as Only

from tests.doubles.chat_server import ChatServer, Json, Reply, chat_server, refusal, turns_shown
from tests.e2e.process import Launch
from tests.sidecar import Sidecar

TEXT = "Well, my heart has been set on the tuba for ages."
TUBA = {
    "kind": "fact",
    "subject": "",
    "attribute": "instrument",
    "value": "tuba",
    "statement": "The user has wanted a tuba for ages.",
    "evidence": "my heart has been set on the tuba",
    "negated": False,
    "polarity": 0,
    "manner": "stated",
    "time": "",
    "time_role": "at",
    "entity_type": "thing",
    "confidence": 0.95,
    "importance": 0.8,
}
OPTIONS = {"extraction.mode": "llm", "extraction.model": "m"}


def tuba(request: Json) -> Reply:
    turns = turns_shown(request)
    return Reply({"claims": [{**TUBA, "turn": n} for n, turn in enumerate(turns, 1) if "tuba" in str(turn)]})


async def started(launch: Launch, server: ChatServer) -> Sidecar:
    sidecar = launch({**OPTIONS, "extraction.base_url": server.base_url}, start=False)
    await asyncio.to_thread(sidecar.start)
    return sidecar


async def ended(client: AsyncMemsidecar, name: str) -> Job:
    last = None
    async with client.watch_job(name) as changes:
        async for job in changes:
            last = job
    assert last is not None
    return last


async def statements(client: AsyncMemsidecar) -> list[str]:
    return [m.text async for m in client.list_memories(Only(kinds=(MemoryKind.FACT, MemoryKind.PREFERENCE)))]


async def test_one_short_message_is_read_within_seconds(launch: Launch) -> None:
    async with chat_server() as server:
        server.answer = tuba
        sidecar = await started(launch, server)
        async with AsyncMemsidecar(sidecar.target, user="ann") as client:
            remembered = await client.remember(TEXT)
            assert not remembered.stages.extracted
            async with asyncio.timeout(10):
                last = await ended(client, *remembered.stages.jobs)
            assert last.state is JobState.SUCCEEDED
            ((outcome,),) = [result.outcomes for result in last.results]
            assert outcome.memory is not None
            assert (await client.get_memory(outcome.memory.name)).text == TUBA["statement"]
            assert await statements(client) == [TUBA["statement"]]


@pytest.mark.parametrize("trouble", [refusal(500, "broken"), refusal(429, "too many"), Reply("I'd rather not.")])
async def test_what_is_acknowledged_is_read_although_the_model_fails_and_the_process_is_killed(
    launch: Launch, trouble: Reply
) -> None:
    async with chat_server() as server:
        server.answer = lambda request: trouble
        sidecar = await started(launch, server)
        async with AsyncMemsidecar(sidecar.target, user="ann") as client:
            remembered = await client.remember(TEXT)
            await asyncio.wait_for(server.received.wait(), 20)
        await asyncio.to_thread(sidecar.kill)
        server.answer = tuba
        await asyncio.to_thread(sidecar.start)
        async with AsyncMemsidecar(sidecar.target, user="ann") as client:
            async with asyncio.timeout(60):
                last = await ended(client, *remembered.stages.jobs)
            assert last.state is JobState.SUCCEEDED
            assert await statements(client) == [TUBA["statement"]]


async def test_a_kill_while_the_model_reads_makes_nothing_twice(launch: Launch) -> None:
    async with chat_server() as server:
        server.answer = lambda request: Reply(never=True)
        sidecar = await started(launch, server)
        async with AsyncMemsidecar(sidecar.target, user="ann") as client:
            many = await client.remember_many([f"{TEXT} It is my dream number {n}." for n in range(20)])
            await asyncio.wait_for(server.received.wait(), 20)
        await asyncio.to_thread(sidecar.kill)
        server.answer = tuba
        await asyncio.to_thread(sidecar.start)
        async with AsyncMemsidecar(sidecar.target, user="ann") as client:
            async with asyncio.timeout(60):
                last = await ended(client, *many.stages.jobs)
            assert (last.total, last.done, last.failed) == (20, 20, 0)
            # The same of one slot, with twenty sources.
            assert await statements(client) == [TUBA["statement"]]


async def test_a_text_that_is_purged_before_it_is_read_leaves_nothing(launch: Launch) -> None:
    async with chat_server() as server:
        server.answer = lambda request: refusal(500, "broken")
        sidecar = await started(launch, server)
        async with AsyncMemsidecar(sidecar.target, user="ann") as client:
            remembered = await client.remember(TEXT)
            name = remembered.outcomes[0].memory.name
            await client.delete_memory(name, purge=True)
            server.answer = tuba
            async with asyncio.timeout(60):
                last = await ended(client, *remembered.stages.jobs)
            assert last.state is JobState.SUCCEEDED
            assert await statements(client) == []
            with pytest.raises(NotFound):
                await client.get_memory(name)


async def test_a_conversation_and_a_session_teach_the_same(launch: Launch) -> None:
    sidecar = launch(start=False)
    await asyncio.to_thread(sidecar.start)
    async with AsyncMemsidecar(sidecar.target, user="ann") as client:
        turns = [ConversationTurn("I live in Oslo.", "user"), ConversationTurn("I live in the cloud.", "assistant")]
        answer = await client.remember_conversation(turns)
        read = [outcome.memory.text for outcome in answer.outcomes if outcome.extracted_from and outcome.memory]
        assert read == ["I live in Oslo"]
        assert answer.stages.extracted
        session = client.session("s1")
        await session.create()
        said = [Message(Role.USER, "I live in Oslo."), Message(Role.TOOL, "I live in Rome.", tool_call_id="c")]
        await session.append(said)
        ended = await session.end_and_remember()
        assert [o.memory.text for o in ended.outcomes if o.extracted_from] == ["I live in Oslo"]
        assert await statements(client) == ["I live in Oslo"]
        again = await session.end_and_remember()
        assert [o.action for o in again.outcomes] == [o.action for o in ended.outcomes]
