"""Recall during generation: what was sent is taken back when it stops being true, whoever makes it so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from memsidecar.domain.draft import Draft
from memsidecar.domain.memory import Fact, Memory
from memsidecar.server.app import ServerSettings
from memsidecar.v1 import generation_service_pb2 as pb
from memsidecar.v1 import memory_pb2, memory_service_pb2
from tests.server.api import Api
from tests.server.live import Live, Talk
from tests.services.conflicting import Said, dispute, say, supersede, undo
from tests.services.stack import ANN, TEAM, stored

OLD, NEW = "Peanuts make Robert ill within minutes.", "Almonds make Robert ill within minutes."
OTHER = "Our old boat sank near the lighthouse."


@pytest.fixture
async def another(line: grpc.aio.Channel, settings: ServerSettings) -> AsyncIterator[Api]:
    """Another client of the same server."""
    async with grpc.aio.insecure_channel(
        f"unix:{settings.socket}", options=(("grpc.use_local_subchannel_pool", 1),)
    ) as own:
        yield Api(own)


async def sent(alive: Live, line: grpc.aio.Channel, *more: str, **start: Any) -> tuple[Talk, Memory]:
    """A stream that was sent the memory OLD."""
    memory = stored(await alive.stack.remember(ANN, OLD, *more))[0]
    talk = await Talk.open(line, **start)
    await talk.write(OLD)
    await talk.until("hit")
    return talk, memory


def name(memory: Memory) -> str:
    return f"{memory.scope.partition.name}/memories/{memory.id}"


def update(memory: Memory, **fields: Any) -> memory_service_pb2.UpdateMemoryRequest:
    return memory_service_pb2.UpdateMemoryRequest(memory=memory_pb2.Memory(name=name(memory), **fields))


async def test_update_takes_back_the_old_text_with_the_new_one_within_a_tenth_of_a_second(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    talk, memory = await sent(alive, line)
    await another.memory.UpdateMemory(update(memory, fact={"statement": NEW}))
    written = time.monotonic()
    retracted = (await talk.until("retracted")).retracted
    assert time.monotonic() - written < 0.1
    assert retracted.memory == retracted.successor.name == name(memory)
    assert retracted.reason == pb.RETRACTION_REASON_UPDATED
    assert retracted.successor.fact.statement == NEW
    await talk.write(NEW)
    assert (await talk.until("hit")).hit.hit.text == NEW
    finished = await talk.finish()
    assert (finished.hits_sent, finished.retracted) == (2, 1)


@pytest.mark.parametrize(
    ("purge", "reason"), [(False, pb.RETRACTION_REASON_DELETED), (True, pb.RETRACTION_REASON_PURGED)]
)
async def test_delete_takes_back_and_nothing_takes_its_place(
    alive: Live, line: grpc.aio.Channel, another: Api, purge: bool, reason: int
) -> None:
    talk, memory = await sent(alive, line)
    await another.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(name=name(memory), purge=purge))
    retracted = (await talk.until("retracted")).retracted
    assert (retracted.memory, retracted.reason) == (name(memory), reason)
    assert not retracted.HasField("successor")
    await talk.write(OLD)
    await talk.flush()
    assert (await talk.finish()).hits_sent == 1


async def test_memory_that_expires_is_taken_back_when_it_does(alive: Live, line: grpc.aio.Channel) -> None:
    until = alive.stack.clock.now() + 400_000
    await alive.stack.remember(ANN, Draft(Fact(OLD), expires_at=until))
    talk = await Talk.open(line)
    await talk.write(OLD)
    await talk.until("hit")
    retracted = (await talk.until("retracted")).retracted
    assert retracted.reason == pb.RETRACTION_REASON_EXPIRED
    assert 0 <= alive.stack.clock.now() - until < 100_000
    await talk.finish()


async def test_memory_whose_expiry_is_put_off_stays(alive: Live, line: grpc.aio.Channel, another: Api) -> None:
    now = alive.stack.clock.now()
    memory = stored(await alive.stack.remember(ANN, Draft(Fact(OLD), expires_at=now + 1_500_000)))[0]
    talk = await Talk.open(line)
    await talk.write(OLD)
    await talk.until("hit")
    later = {"seconds": (now + 60_000_000) // 1_000_000}
    await another.memory.UpdateMemory(update(memory, expire_time=later))
    # Until it would have expired.
    await asyncio.sleep((now + 1_600_000 - alive.stack.clock.now()) / 1_000_000)
    assert (await talk.finish()).retracted == 0


async def test_what_says_the_same_as_before_is_not_taken_back(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    talk, memory = await sent(alive, line)
    await another.memory.UpdateMemory(update(memory, importance=0.9, labels={"a": "b"}))
    await alive.stack.remember(ANN, OLD, OTHER)
    assert (await talk.finish()).retracted == 0


async def test_memory_that_waits_for_credit_is_dropped_when_it_stops_being_true(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    memory = stored(await alive.stack.remember(ANN, OLD))[0]
    talk = await Talk.open(line, initial_credit=0)
    await talk.write(OLD)
    assert (await talk.flush()).withheld_hits == 1
    await another.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(name=name(memory)))
    await talk.say(credit={"hits": 5})
    finished = await talk.finish()
    assert (finished.hits_sent, finished.retracted) == (0, 0)


async def test_retraction_needs_no_credit_and_reaches_every_stream(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    first, memory = await sent(alive, line, initial_credit=1)
    second, _ = await sent(alive, line, initial_credit=1)
    await another.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(name=name(memory)))
    for talk in (first, second):
        assert (await talk.until("retracted")).retracted.memory == name(memory)
        await talk.finish()


async def test_shared_memory_is_taken_back_when_anybody_of_the_namespace_changes_it(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    memory = stored(await alive.stack.remember(TEAM, OLD))[0]
    talk = await Talk.open(line, options={"include_shared": True})
    await talk.write(OLD)
    await talk.until("hit")
    await another.memory.UpdateMemory(update(memory, fact={"statement": NEW}))
    retracted = (await talk.until("retracted")).retracted
    assert retracted.successor.name == name(memory) == f"namespaces/acme/memories/{memory.id}"
    await talk.finish()


async def test_memory_is_taken_back_although_its_partition_had_left_memory(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    talk, memory = await sent(alive, line)
    loaded = alive.stack.residency.peek(ANN.partition)
    assert loaded is not None
    loaded.leaving = True
    await alive.stack.residency._unload(loaded)
    assert alive.stack.residency.peek(ANN.partition) is None
    await another.memory.UpdateMemory(update(memory, fact={"statement": NEW}))
    assert (await talk.until("retracted")).retracted.successor.fact.statement == NEW
    await talk.finish()


async def test_commit_that_was_not_told_is_noticed_with_the_next(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    talk, memory = await sent(alive, line)
    notice = alive.stack.changes.notice
    alive.stack.changes.notice = lambda resident, entries: None  # type: ignore[method-assign]
    await another.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(name=name(memory)))
    alive.stack.changes.notice = notice  # type: ignore[method-assign]
    await alive.stack.remember(ANN, OTHER)
    assert (await talk.until("retracted")).retracted.reason == pb.RETRACTION_REASON_DELETED
    await talk.finish()


async def test_memory_that_was_in_the_prompt_is_taken_back_too(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    known = stored(await alive.stack.remember(ANN, OLD))[0]
    talk = await Talk.open(line, known_memories=[name(known)])
    await another.memory.UpdateMemory(update(known, fact={"statement": NEW}))
    retracted = (await talk.until("retracted")).retracted
    assert (retracted.memory, retracted.reason) == (name(known), pb.RETRACTION_REASON_UPDATED)
    assert retracted.successor.fact.statement == NEW
    await talk.write(NEW)
    assert (await talk.until("hit")).hit.hit.text == NEW
    finished = await talk.finish()
    assert (finished.hits_sent, finished.retracted) == (1, 1)


@pytest.mark.parametrize("included", [True, False])
async def test_shared_memory_that_was_in_the_prompt_is_taken_back_wherever_the_stream_looks(
    alive: Live, line: grpc.aio.Channel, another: Api, included: bool
) -> None:
    known = stored(await alive.stack.remember(TEAM, OLD))[0]
    talk = await Talk.open(line, known_memories=[name(known)], options={"include_shared": included})
    await talk.until("started")
    await another.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(name=name(known)))
    assert (await talk.until("retracted")).retracted.memory == name(known)
    await talk.finish()


async def test_all_of_a_thousand_memories_that_were_in_the_prompt_are_taken_back(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    known = stored(await alive.stack.remember(ANN, *(f"Box {n} is in the attic." for n in range(1_000))))
    talk = await Talk.open(line, known_memories=[name(memory) for memory in known])
    await talk.until("started")
    for memory in (known[0], known[500], known[-1]):
        await another.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(name=name(memory)))
        assert (await talk.until("retracted")).retracted.memory == name(memory)
    await talk.finish()


async def test_commit_to_the_shared_memory_that_was_not_told_is_noticed_with_the_next(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    memory = stored(await alive.stack.remember(TEAM, OLD))[0]
    talk = await Talk.open(line, options={"include_shared": True})
    await talk.write(OLD)
    await talk.until("hit")
    notice = alive.stack.changes.notice
    alive.stack.changes.notice = lambda resident, entries: None  # type: ignore[method-assign]
    await another.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(name=name(memory)))
    alive.stack.changes.notice = notice  # type: ignore[method-assign]
    await alive.stack.remember(TEAM, OTHER)
    assert (await talk.until("retracted")).retracted.reason == pb.RETRACTION_REASON_DELETED
    await talk.finish()


@pytest.fixture
async def told(alive: Live, line: grpc.aio.Channel) -> tuple[Talk, Said, Said]:
    """A stream that was sent a turn, from which a fact was read that may be superseded by another."""
    old = await say(alive.stack, OLD, "Peanuts make Robert ill within minutes!")
    new = await say(alive.stack, OTHER, "Almonds make Robert ill within minutes!")
    talk = await Talk.open(line)
    await talk.write(OLD)
    assert (await talk.until("hit")).hit.hit.memory.name == name(old.turn)
    return talk, old, new


async def test_memory_that_is_superseded_is_taken_back_with_what_holds_instead(
    alive: Live, line: grpc.aio.Channel
) -> None:
    old, new = stored(await alive.stack.remember(ANN, OLD, OTHER))
    talk = await Talk.open(line)
    await talk.write(OLD)
    await talk.until("hit")
    await supersede(alive.stack, old, new)
    retracted = (await talk.until("retracted")).retracted
    assert (retracted.memory, retracted.reason) == (name(old), pb.RETRACTION_REASON_SUPERSEDED)
    assert retracted.successor.name == name(new)
    await talk.write(OLD)
    await talk.flush()
    assert (await talk.finish()).retracted == 1


async def test_turn_is_taken_back_when_what_it_states_is_superseded(alive: Live, told: tuple[Talk, Said, Said]) -> None:
    talk, old, new = told
    await supersede(alive.stack, old.fact, new.fact)
    retracted = (await talk.until("retracted")).retracted
    assert (retracted.memory, retracted.reason) == (name(old.turn), pb.RETRACTION_REASON_SUPERSEDED)
    assert retracted.successor.name == name(new.fact)
    await talk.finish()


async def test_what_is_superseded_at_a_time_is_taken_back_then(alive: Live, told: tuple[Talk, Said, Said]) -> None:
    talk, old, new = told
    until = alive.stack.clock.now() + 400_000
    await supersede(alive.stack, old.fact, new.fact, at=until)
    retracted = (await talk.until("retracted")).retracted
    assert (retracted.memory, retracted.successor.name) == (name(old.turn), name(new.fact))
    assert 0 <= alive.stack.clock.now() - until < 100_000
    await talk.finish()


async def test_what_was_to_be_superseded_and_is_not_stays(alive: Live, told: tuple[Talk, Said, Said]) -> None:
    talk, old, new = told
    until = alive.stack.clock.now() + 300_000
    await undo(alive.stack, await supersede(alive.stack, old.fact, new.fact, at=until))
    await asyncio.sleep(0.4)
    assert (await talk.finish()).retracted == 0


async def test_memory_is_taken_back_when_its_validity_ends(alive: Live, line: grpc.aio.Channel) -> None:
    until = alive.stack.clock.now() + 400_000
    await alive.stack.remember(ANN, Draft(Fact(OLD), valid_to=until), Draft(Fact(NEW), valid_to=until - 3_600_000_000))
    talk = await Talk.open(line)
    await talk.write(OLD, NEW)
    retracted = (await talk.until("retracted")).retracted
    assert retracted.reason == pb.RETRACTION_REASON_EXPIRED
    assert 0 <= alive.stack.clock.now() - until < 100_000
    # What was over when it was sent is history, and stays that.
    finished = await talk.finish()
    assert (finished.hits_sent, finished.retracted) == (2, 1)


async def test_disputed_memory_is_sent_with_its_counterpart(alive: Live, line: grpc.aio.Channel) -> None:
    old = await say(alive.stack, OLD, "Peanuts make Robert ill within minutes!")
    new = await say(alive.stack, OTHER, "Almonds make Robert ill within minutes!")
    await dispute(alive.stack, old.fact, new.fact)
    talk = await Talk.open(line)
    await talk.write(OLD)
    hit = (await talk.until("hit")).hit.hit
    (standing,) = hit.standings
    assert (standing.memory, standing.state) == (name(old.fact), memory_pb2.MEMORY_STATE_DISPUTED)
    assert list(standing.counterparts) == [name(new.fact), name(new.turn)]
    assert (await talk.until("hit")).hit.hit.counterpart_of == name(old.turn)
    await talk.finish()


TEAMS = {"labels": {"acl": "team"}}


@pytest.mark.parametrize("text", [OLD, NEW])
async def test_memory_that_leaves_the_filter_is_taken_back_at_once_without_what_it_says_now(
    alive: Live, line: grpc.aio.Channel, another: Api, text: str
) -> None:
    memory = stored(await alive.stack.remember(ANN, Draft(Fact(OLD), labels={"acl": "team"})))[0]
    talk = await Talk.open(line, options={"filter": TEAMS})
    await talk.write(OLD)
    await talk.until("hit")
    await another.memory.UpdateMemory(update(memory, fact={"statement": text}, labels={"acl": "boss"}))
    written = time.monotonic()
    retracted = (await talk.until("retracted")).retracted
    assert time.monotonic() - written < 0.1
    assert (retracted.memory, retracted.reason) == (name(memory), pb.RETRACTION_REASON_NO_LONGER_VISIBLE)
    assert not retracted.HasField("successor")
    assert (await talk.finish()).retracted == 1


async def test_labels_that_the_filter_does_not_ask_for_may_change(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    memory = stored(await alive.stack.remember(ANN, Draft(Fact(OLD), labels={"acl": "team", "seen": "no"})))[0]
    talk = await Talk.open(line, options={"filter": TEAMS})
    await talk.write(OLD)
    await talk.until("hit")
    await another.memory.UpdateMemory(update(memory, labels={"acl": "team", "seen": "yes"}))
    await talk.flush()
    assert (await talk.finish()).retracted == 0


async def test_known_memory_that_the_filter_never_let_through_is_not_taken_back_for_it(
    alive: Live, line: grpc.aio.Channel, another: Api
) -> None:
    memory = stored(await alive.stack.remember(ANN, Draft(Fact(OLD), labels={"acl": "boss"})))[0]
    talk = await Talk.open(line, options={"filter": TEAMS}, known_memories=[name(memory)])
    await talk.until("started")
    await another.memory.UpdateMemory(update(memory, labels={"acl": "none"}))
    await talk.flush()
    assert (await talk.finish()).retracted == 0
