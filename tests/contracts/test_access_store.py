"""What every AccessStore promises."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from memsidecar.adapters.sqlite_accesses import SqliteAccesses
from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.scope import Partition
from memsidecar.domain.usage import Access
from memsidecar.ports.accesses import AccessStore

ANN, BEN, TEAM = Partition("acme", "ann"), Partition("acme", "ben"), Partition("acme")
OTHER = Partition("other", "ann")
Reopen = Callable[[], Awaitable[AccessStore]]


@pytest.fixture(params=["sqlite"])
async def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Reopen]:
    """Opens the store; again, it is what a restart finds."""
    opened: list[AccessStore] = []

    async def open_again() -> AccessStore:
        if opened:
            await opened[-1].close()
        opened.append(await {"sqlite": SqliteAccesses.open}[request.param](tmp_path))
        return opened[-1]

    yield open_again
    await opened[-1].close()


@pytest.fixture
async def store(reopen: Reopen) -> AccessStore:
    return await reopen()


async def test_nothing_is_known_at_first(store: AccessStore) -> None:
    assert await store.load(ANN) == {}
    await store.forget(ANN, ["m"])
    await store.erase(ANN)
    await store.add({})


async def test_counts_add_up_and_the_latest_time_stays(store: AccessStore) -> None:
    await store.add({ANN: {"a": Access(2, 50), "b": Access(1, 10)}})
    await store.add({ANN: {"a": Access(3, 40)}, BEN: {"a": Access(1, 60)}})
    assert await store.load(ANN) == {"a": Access(5, 50), "b": Access(1, 10)}
    assert await store.load(BEN) == {"a": Access(1, 60)}


async def test_partitions_are_apart(store: AccessStore) -> None:
    await store.add({ANN: {"a": Access(1, 1)}, TEAM: {"a": Access(2, 2)}, OTHER: {"a": Access(3, 3)}})
    await store.forget(TEAM, ["a"])
    assert await store.load(TEAM) == {}
    await store.erase(ANN)
    assert await store.load(ANN) == {}
    assert await store.load(OTHER) == {"a": Access(3, 3)}


async def test_what_is_added_is_there_after_a_restart(store: AccessStore, reopen: Reopen) -> None:
    await store.add({ANN: {"a": Access(1, 1)}, TEAM: {"日": Access(2, 2)}})
    again = await reopen()
    assert await again.load(ANN) == {"a": Access(1, 1)}
    assert await again.load(TEAM) == {"日": Access(2, 2)}


async def test_what_is_forgotten_starts_anew(store: AccessStore) -> None:
    await store.add({ANN: {"a": Access(9, 9), "b": Access(9, 9)}})
    await store.forget(ANN, ["a", "unknown"])
    await store.add({ANN: {"a": Access(1, 1)}})
    assert await store.load(ANN) == {"a": Access(1, 1), "b": Access(9, 9)}


async def test_what_is_erased_starts_anew(store: AccessStore) -> None:
    await store.add({ANN: {"a": Access(9, 9)}})
    await store.erase(ANN)
    await store.add({ANN: {"b": Access(1, 1)}})
    assert await store.load(ANN) == {"b": Access(1, 1)}


async def test_a_large_batch_is_one(store: AccessStore) -> None:
    await store.add({ANN: {f"m{n}": Access(1, n) for n in range(10_000)}})
    assert len(await store.load(ANN)) == 10_000
    await store.forget(ANN, [f"m{n}" for n in range(9_999)])
    assert await store.load(ANN) == {"m9999": Access(1, 9_999)}


async def test_a_closed_store_says_so(store: AccessStore) -> None:
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.load(ANN)
