"""SIGKILL at random moments under mixed writes: nothing acknowledged is lost, nothing is half there.

CRASH_ROUNDS rounds on each engine (5 unless set; `make crash ROUNDS=200`), CRASH_SEED to repeat a run.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from pathlib import Path

import pytest
from memsidecar_client import AsyncMemsidecar

from tests.crash.model import Content, content_of
from tests.crash.writers import WritingClient
from tests.e2e.process import CLEAN, LIGHT, verify
from tests.e2e.story import ALL
from tests.sidecar import Sidecar

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "5"))
SEED = int(os.environ.get("CRASH_SEED", "20261130"))
USERS = ("ann", "bob", "北京", "ann")  # four clients, two of them of one user
# A store only grows; beginning anew keeps a long run as quick as a short one.
ROUNDS_A_STORE = 10


@pytest.mark.timeout(60 + 30 * ROUNDS)
@pytest.mark.parametrize("engine", ["kuzu", "ladybug"])
async def test_no_kill_loses_or_halves_a_write(tmp_path: Path, engine: str) -> None:
    print(f"\n{engine}: {ROUNDS} rounds, seed {SEED}")
    dice = random.Random(f"{SEED} {engine}")
    for first in range(0, ROUNDS, ROUNDS_A_STORE):
        store = tmp_path / f"{engine}-{first}"
        await _rounds(store, engine, range(first, min(first + ROUNDS_A_STORE, ROUNDS)), dice)


async def _rounds(store: Path, engine: str, numbers: range, dice: random.Random) -> None:
    settings = {**LIGHT, "graph.engine": engine}
    writers = [WritingClient(n, user, random.Random(dice.random())) for n, user in enumerate(USERS)]
    sidecar = Sidecar(store, settings)
    try:
        await asyncio.to_thread(sidecar.start)
        async with AsyncMemsidecar(sidecar.target) as client:
            for writer in writers:
                await writer.create_session(client)
        for number in numbers:
            began = time.monotonic()
            calls = await _killed_while_writing(sidecar, writers, dice.uniform(0.05, 0.8))
            if dice.random() < 0.25:
                await _killed_while_starting(sidecar, dice.uniform(0.3, 1.5))
            assert await asyncio.to_thread(verify, store, settings) == CLEAN, f"round {number}"
            await asyncio.to_thread(sidecar.start)
            async with AsyncMemsidecar(sidecar.target) as client:
                await _check(client, writers, number)
                await asyncio.gather(*(writer.retry(client) for writer in writers))
                await _check(client, writers, number)
            print(f"round {number}: {calls} calls acknowledged, {time.monotonic() - began:.1f} s")
        assert await asyncio.to_thread(sidecar.stop) == 0
    finally:
        sidecar.close()


async def _killed_while_writing(sidecar: Sidecar, writers: list[WritingClient], seconds: float) -> int:
    """How many calls were acknowledged before the kill."""
    clients = [AsyncMemsidecar(sidecar.target, wait_for_ready=False, timeout=20) for _ in writers]
    writing = asyncio.gather(*(w.write_until_killed(c) for w, c in zip(writers, clients, strict=True)))
    await asyncio.wait([writing], timeout=seconds)
    sidecar.kill()
    calls = await writing
    for client in clients:
        await client.close()
    return sum(calls)


async def _killed_while_starting(sidecar: Sidecar, seconds: float) -> None:
    sidecar.start(wait=False)
    await asyncio.sleep(seconds)
    sidecar.kill()


async def _check(client: AsyncMemsidecar, writers: list[WritingClient], number: int) -> None:
    problems: list[str] = []
    for user in sorted(set(USERS)):
        stored = {
            m.name: content_of(m)
            async for m in client.list_memories(ALL, user=user, page_size=1000)
            if not getattr(m.body, "discovered", False)
        }
        for writer in writers:
            if writer.user == user:
                problems += await _of_writer(client, writer, stored)
        strangers = [n for n in stored if all(w.user != user or not _is_of(stored[n], w) for w in writers)]
        problems += [f"{name} is of nobody" for name in strangers]
    assert not problems, f"round {number}:\n" + "\n".join(problems[:20])


async def _of_writer(client: AsyncMemsidecar, writer: WritingClient, stored: dict[str, Content]) -> list[str]:
    problems = writer.known.problems({name: c for name, c in stored.items() if _is_of(c, writer)})
    session = client.session(writer.session, user=writer.user)
    problems += writer.known.message_problems([m.text async for m in session.messages(page_size=1000)])
    # What is listed is found, too.
    active = [(name, c[0]) for name, c in stored.items() if c and not c[1] and _is_of(c, writer)]
    if active:
        name, text = active[-1]
        found = await client.recall(text.split()[0], user=writer.user, max_hits=3)
        if name not in {hit.memory.name for hit in found.hits}:
            problems.append(f"{name} is listed and not recalled")
    return problems


def _is_of(content: Content, writer: WritingClient) -> bool:
    return content is not None and content[0].startswith(f"n{writer.number}x")
