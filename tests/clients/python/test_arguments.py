"""Wrong arguments are InvalidArgument with their names, whatever the call, and nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    ConversationTurn,
    Fact,
    FeedbackKind,
    Filter,
    InvalidArgument,
    Item,
    Memory,
    Memsidecar,
    Message,
    Role,
)

from tests.clients.python.fake_sidecar import FakeSidecar

HALF = "half \ud83d"
NOT_UNICODE = "must be valid Unicode, without lone surrogates"
Call = Callable[[Any], Awaitable[object]]


async def first(pages: Any) -> object:
    return await anext(pages, None)


HALVES: dict[str, Call] = {
    "what": lambda c: c.remember(HALF),
    "what.statement": lambda c: c.remember(Fact(HALF)),
    "what.body.statement": lambda c: c.remember(Memory(Fact(HALF))),
    "entities[1]": lambda c: c.remember("x", entities=["y", HALF]),
    "labels['k']": lambda c: c.remember("x", labels={"k": HALF}),
    "labels (a key)": lambda c: c.remember("x", labels={HALF: "v"}),
    "user": lambda c: c.remember("x", user=HALF),
    "request_id": lambda c: c.remember("x", request_id=HALF),
    "turns[0].text": lambda c: c.remember_conversation([ConversationTurn(HALF)]),
    "items[1].what": lambda c: c.remember_many(["x", Item(HALF)]),
    "items": lambda c: c.remember_many(text for text in (HALF,)),
    "query": lambda c: c.recall(HALF),
    "filter.sessions[0]": lambda c: c.recall("x", filter=Filter(sessions=(HALF,))),
    "name": lambda c: first(c.memory_history(HALF)),
    "messages[0].text": lambda c: c.session("s").append([Message(Role.USER, HALF)]),
    "session": lambda c: c.session(HALF).create(),
    "prefix": lambda c: first(c.session("s").list_scratch(HALF)),
}
TYPES: dict[str, tuple[Call, str]] = {
    "what": (lambda c: c.remember(42), "not int"),
    "user": (lambda c: c.remember("x", user=42), "must be str, not int"),
    "time": (lambda c: c.recall("x", time="yesterday"), "must be datetime, not str"),
    "entities[0]": (lambda c: c.remember("x", entities=[3]), "must be str, not int"),
    "labels['k']": (lambda c: c.remember("x", labels={"k": 3}), "must be str, not int"),
    "max_hits": (lambda c: c.recall("x", max_hits="five"), "must be int, not str"),
    "embedding[0]": (lambda c: c.remember("x", embedding=["a"]), "must be float, not str"),
    "turns[0]": (lambda c: c.remember_conversation(["x"]), "must be ConversationTurn, not str"),
    "page_size": (lambda c: first(c.list_memories(page_size="x")), "must be int, not str"),
    "session": (lambda c: c.session(42).get(), "must be str, not int"),
    "timeout": (lambda c: c.recall("x", timeout="5"), "must be float, not str"),
    "ttl": (lambda c: c.session("s").create(ttl=5), "must be timedelta, not int"),
}


@pytest.mark.parametrize("path", HALVES)
async def test_half_a_surrogate_pair_is_named(client: AsyncMemsidecar, fake: FakeSidecar, path: str) -> None:
    assert await refused(HALVES[path](client)) == (path, NOT_UNICODE)
    assert not fake.calls


@pytest.mark.parametrize("path", TYPES)
async def test_value_of_another_type_is_named(client: AsyncMemsidecar, fake: FakeSidecar, path: str) -> None:
    call, problem = TYPES[path]
    named, said = await refused(call(client))
    assert (named, problem in said) == (path, True), said
    assert not {*fake.calls} - {"GetServerInfo"}


async def test_whole_number_beyond_32_bits_is_named(client: AsyncMemsidecar) -> None:
    path, problem = await refused(client.recall("x", max_hits=2**40))
    assert (path, problem) == ("max_hits", "must be from -2147483648 to 2147483647")


async def test_scope_of_the_client_is_named_too(fake: FakeSidecar) -> None:
    wrong: Any = 42
    async with AsyncMemsidecar(fake.target, user=wrong) as client:
        assert await refused(client.remember("x")) == ("user", "must be str, not int")
    with Memsidecar(fake.target, namespace=HALF) as blocking, pytest.raises(InvalidArgument, match="namespace"):
        blocking.remember("x")
    assert not fake.calls


async def test_stream_of_items_names_the_one(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    with pytest.raises(InvalidArgument, match=r"items\[1\]: must be valid"):
        async with client.remember_stream() as stream:
            await stream.send(["x", HALF])


@pytest.mark.parametrize("seconds", [-1, -0.001, float("nan")])
async def test_time_before_now_is_no_deadline(client: AsyncMemsidecar, fake: FakeSidecar, seconds: float) -> None:
    calls: list[Call] = [
        lambda c: c.recall("x", timeout=seconds),
        lambda c: c.ready(seconds),
        lambda c: first(c.list_memories(timeout=seconds)),
        lambda c: c.session("s").get(timeout=seconds),
        lambda c: asyncio.sleep(0, c.generation(timeout=seconds)),
        lambda c: asyncio.sleep(0, c.remember_stream(timeout=seconds)),
        lambda c: asyncio.sleep(0, c.recall_stream("x", timeout=seconds)),
        lambda c: asyncio.sleep(0, c.watch_memories(timeout=seconds)),
    ]
    for call in calls:

        async def made(call: Call = call) -> object:
            return await call(client)

        assert await refused(made()) == ("timeout", "must not be less than 0 seconds")
    with pytest.raises(InvalidArgument, match="resume_timeout"):
        client.generation(resume_timeout=seconds)
    with pytest.raises(InvalidArgument, match="timeout"):
        AsyncMemsidecar(fake.target, timeout=seconds)
    assert not fake.calls


async def test_what_is_wrong_in_another_way_stays_what_it_is(client: AsyncMemsidecar) -> None:
    call: Any = client.remember
    with pytest.raises(TypeError, match="missing 1 required"):
        await call()
    with pytest.raises(TypeError, match="unexpected keyword"):
        await call("x", who="ann")

    def broken() -> Any:
        yield "x"
        raise TypeError("of the application")

    with pytest.raises(TypeError, match="of the application"):
        await client.remember_many(broken())


async def test_good_arguments_of_odd_types_are_left_alone(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    await client.remember("x", entities={"a": 1}.keys(), labels={}, timeout=5)
    await client.feedback({"m": FeedbackKind.USED})
    await client.session("s").create(ttl=timedelta(hours=1))
    assert len(fake.calls) == 3


async def refused(call: Awaitable[object]) -> tuple[str, str]:
    with pytest.raises(InvalidArgument) as caught:
        await call
    error = caught.value
    assert (error.code, error.reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    (violation,) = error.violations
    assert str(error) == f"{violation.field}: {violation.description}"
    return violation.field, violation.description
