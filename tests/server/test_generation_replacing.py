"""A stream that replaces another is told what the agent knows, and takes back what was superseded meanwhile."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from memsidecar.domain.memory import Memory
from memsidecar.v1 import generation_service_pb2 as pb
from tests.server.live import Live, Talk
from tests.services.conflicting import Said, say, supersede
from tests.services.stack import ANN, TEAM, stored

OLD, NEW = "Peanuts make Robert ill within minutes.", "Almonds make Robert ill within minutes."
OTHER = "Our old boat sank near the lighthouse."


def name(memory: Memory) -> str:
    return f"{memory.scope.partition.name}/memories/{memory.id}"


def knows(memory: Memory, *superseded: Memory) -> dict[str, Any]:
    return {"memory": name(memory), "superseded": [name(each) for each in superseded]}


@pytest.fixture
async def said(alive: Live) -> tuple[Said, Said]:
    """Two turns, each with a fact that was read from it; the first one's is superseded by the other's."""
    old = await say(alive.stack, OLD, "Peanuts make Robert ill within minutes!")
    new = await say(alive.stack, OTHER, "Almonds make Robert ill within minutes!")
    await supersede(alive.stack, old.fact, new.fact)
    return old, new


async def test_what_was_superseded_without_the_agents_knowledge_is_taken_back_at_once(
    alive: Live, line: grpc.aio.Channel, said: tuple[Said, Said]
) -> None:
    old, new = said
    talk = await Talk.open(line, known=[knows(old.turn), knows(old.fact), knows(new.turn)])
    gone = [(await talk.until("retracted")).retracted for _ in range(2)]
    assert {each.memory for each in gone} == {name(old.turn), name(old.fact)}
    assert {each.reason for each in gone} == {pb.RETRACTION_REASON_SUPERSEDED}
    assert {each.successor.name for each in gone} == {name(new.fact)}
    await talk.write(OLD)
    assert (await talk.flush()).seq == 1
    finished = await talk.finish()
    assert (finished.hits_sent, finished.retracted) == (0, 2), "what was taken back is not sent again"


async def test_what_the_agent_knows_to_be_superseded_is_not_taken_back(
    alive: Live, line: grpc.aio.Channel, said: tuple[Said, Said]
) -> None:
    old, _ = said
    talk = await Talk.open(line, known=[knows(old.turn, old.fact), knows(old.fact, old.fact)])
    assert (await talk.finish()).retracted == 0


async def test_stream_says_what_an_agent_is_taken_to_know_of_which_it_said_nothing(
    alive: Live, line: grpc.aio.Channel, said: tuple[Said, Said]
) -> None:
    old, new = said
    shared = stored(await alive.stack.remember(TEAM, NEW))[0]
    named = [name(old.turn), name(old.fact), name(new.turn), name(shared), f"{name(new.turn)}-gone"]
    talk = await Talk.open(line, known_memories=named)
    started = (await talk.until("started")).started
    assert {known.memory: list(known.superseded) for known in started.known} == {
        name(old.turn): [name(old.fact)],
        name(old.fact): [name(old.fact)],
        name(new.turn): [],
        name(shared): [],
    }
    again = await Talk.open(line, known=list(started.known))
    assert (await again.finish()).retracted == 0
    assert (await talk.finish()).retracted == 0


@pytest.mark.parametrize(
    ("known", "field"),
    [
        ({}, "start.known[0].memory"),
        ({"memory": "namespaces/acme/users/bob/memories/m"}, "start.known[0].memory"),
        (
            {
                "memory": "namespaces/acme/users/ann/memories/m",
                "superseded": ["namespaces/acme/users/bob/memories/m"],
            },
            "start.known[0].superseded[0]",
        ),
    ],
)
async def test_known_memory_of_somebody_else_is_refused(
    alive: Live, line: grpc.aio.Channel, known: dict[str, Any], field: str
) -> None:
    assert ANN.user == "ann"
    talk = await Talk.open(line, known=[known])
    with pytest.raises(grpc.aio.AioRpcError, match="INVALID_ARGUMENT") as refused:
        await talk.until("started")
    assert field in str(refused.value.details())
