"""Every memory once, however many there are and whoever writes meanwhile."""

from __future__ import annotations

import asyncio

from memsidecar_client import AsyncMemsidecar, Fact, MemoryOrder

from tests.e2e.process import Launch


async def test_1001_memories_are_listed_once_each_while_others_write_and_delete(launch: Launch) -> None:
    sidecar = launch()
    async with AsyncMemsidecar(sidecar.target, user="ann") as client:
        for order in (MemoryOrder.OLDEST_FIRST, MemoryOrder.NEWEST_FIRST):
            user = f"ann-{int(order)}"
            told = await client.remember_many([Fact(f"Fact number {n}") for n in range(1_001)], user=user)
            kept = [result.outcomes[0].memory.name for result in told.results]
            passing = await client.remember_many([Fact(f"Passing {n}") for n in range(200)], user=user)
            stop = asyncio.Event()
            disturbing = asyncio.create_task(
                _disturb(client, user, [r.outcomes[0].memory.name for r in passing.results], stop)
            )
            for page_size in (7, 100, 1_000, 0):
                listed = [m.name async for m in client.list_memories(user=user, order=order, page_size=page_size)]
                assert len(set(listed)) == len(listed)
                expected = kept if order is MemoryOrder.OLDEST_FIRST else kept[::-1]
                mine = set(kept)
                assert [name for name in listed if name in mine] == expected
            stop.set()
            await disturbing


async def _disturb(client: AsyncMemsidecar, user: str, passing: list[str], stop: asyncio.Event) -> None:
    """Somebody else writes, changes and deletes all the time."""
    number = 0
    while not stop.is_set():
        number += 1
        told = await client.remember(Fact(f"Another {number}"), user=user)
        if passing:
            await client.delete_memory(passing.pop(), purge=number % 2 == 0)
        if number % 3 == 0:
            await client.update_memory(told.memories[0], fields=["importance"])
