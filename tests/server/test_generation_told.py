"""Recall during generation: what the agent has before it is not sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from memsidecar.domain.draft import Request
from memsidecar.domain.session import Message, Role
from memsidecar.ports.sessions import SessionKey
from memsidecar.server.app import ServerSettings
from tests.doubles.hash_embedder import HashEmbedder
from tests.server.live import Live, Talk, live, served
from tests.services.stack import ANN
from tests.session_servers import RunningServer

SENTENCE = "The Fado concert in Alfama begins at 21:30."
SESSION = "namespaces/acme/users/ann/sessions/chat"
KEY = SessionKey(ANN.partition, "chat")


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


async def test_memory_that_the_prompt_holds_is_not_sent(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, SENTENCE)
    talk = await Talk.open(
        line, prompt=f"- [01 Dec 2026] Ann: {SENTENCE}\n\nWhen does the Fado concert in Alfama begin?"
    )
    await talk.write(SENTENCE)
    await talk.flush()
    assert (await talk.finish()).hits_sent == 0


async def test_sentence_that_was_just_written_does_not_come_back(alive: Live, line: grpc.aio.Channel) -> None:
    await alive.stack.remember(ANN, SENTENCE)
    talk = await Talk.open(line)
    await talk.write(SENTENCE, verbatim=True)
    await talk.flush()
    assert (await talk.finish()).hits_sent == 0


async def test_what_the_session_says_is_not_sent_also_when_it_says_it_later(
    alive: Live, line: grpc.aio.Channel
) -> None:
    other = "Peanuts make Robert ill within minutes."
    await alive.stack.remember(ANN, SENTENCE, other)
    await alive.sessions.append(KEY, [Message(Role.USER, SENTENCE)], None, Request())
    talk = await Talk.open(line, session=SESSION)
    await talk.write(SENTENCE)
    await talk.flush()
    await alive.sessions.append(KEY, [Message(Role.USER, other)], None, Request())
    await talk.write(other)
    await talk.flush()
    assert (await talk.finish()).hits_sent == 0
    assert not alive.sessions._listeners
