"""Vectors move, are rebuilt and move back without anybody noticing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from memsidecar.adapters.hnsw_vectors import HnswSettings, HnswVectorIndex, HnswVectorIndexes
from memsidecar.adapters.hnsw_vectors.contents import Contents
from memsidecar.domain.events import Matrix

DIMENSIONS = 32


def unit(count: int, seed: int = 0) -> Matrix:
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSIONS)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def inside(index: HnswVectorIndex) -> Contents:
    return index._contents


@pytest.fixture
async def indexes() -> AsyncIterator[HnswVectorIndexes]:
    factory = HnswVectorIndexes(HnswSettings(crossover=200, slice_seconds=0.001))
    yield factory
    await factory.close()


async def filled(indexes: HnswVectorIndexes, vectors: Matrix) -> HnswVectorIndex:
    index = indexes.create(DIMENSIONS)
    for row, vector in enumerate(vectors):
        index.add(row, vector[None])
    await index.maintain()
    return index


async def test_hnswlib_is_not_made_at_the_crossover_but_above(indexes: HnswVectorIndexes) -> None:
    index = await filled(indexes, unit(200))
    assert inside(index).graph is None
    index.add(200, unit(1, 1))
    await index.maintain()
    assert inside(index).graph is not None
    assert inside(index).tail.length <= 50
    await index.close()


async def test_what_hnswlib_cannot_reach_is_found_exactly(
    indexes: HnswVectorIndexes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    vectors = unit(600)
    index = await filled(indexes, vectors)
    graph = inside(index).graph
    assert graph is not None
    real, tried = graph._index, []

    class Unreachable:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def set_ef(self, ef: int) -> None:
            tried.append(ef)

        def knn_query(self, *_: object, **__: object) -> None:
            raise RuntimeError("Cannot return the results in a contiguous 2D array")

    monkeypatch.setattr(graph, "_index", Unreachable())
    query = unit(1, 2)[0]
    rows, scores = index.search(query, 10)
    assert rows.tolist() == np.argsort(-(vectors @ query), kind="stable")[:10].tolist()
    np.testing.assert_allclose(scores, vectors[rows] @ query, atol=1e-6)
    assert tried == [40, 160, graph.held]
    assert "searching exactly" in caplog.text
    await index.close()


async def test_a_vector_removed_from_the_tail_never_enters_hnswlib(indexes: HnswVectorIndexes) -> None:
    vectors = unit(500)
    index = await filled(indexes, vectors[:150])
    for row in range(30):
        index.remove(row)
    for row in range(150, 500):
        index.add(row, vectors[row : row + 1])
    await index.maintain()
    contents = inside(index)
    assert contents.graph is not None
    assert contents.tail_dead == 0
    assert contents.graph.held == contents.graph.live == 470 - contents.tail.length
    await index.close()


async def test_many_removals_rebuild_hnswlib_without_them(indexes: HnswVectorIndexes) -> None:
    vectors = unit(1_000)
    index = await filled(indexes, vectors)
    for row in range(0, 1_000, 2):
        index.remove(row)
    await index.maintain()
    graph = inside(index).graph
    assert graph is not None
    assert graph.held == graph.live
    found = [index.search(vectors[row], 1)[0].tolist() == [row] for row in range(1, 1_000, 2)]
    assert np.mean(found) >= 0.98
    np.testing.assert_allclose(index.score(vectors[5], np.array([5, 4], np.int32)), [1, -1], atol=2e-5)
    await index.close()


async def test_many_vectors_get_more_links_and_keep_them() -> None:
    factory = HnswVectorIndexes(HnswSettings(crossover=200, many=500, slice_seconds=0.001))
    vectors = unit(700)
    index = await filled(factory, vectors[:400])
    graph = inside(index).graph
    assert graph is not None
    assert graph.links == 16
    index.remove(3)
    for row in range(400, 700):
        index.add(row, vectors[row][None])
    await index.maintain()
    graph = inside(index).graph
    assert graph is not None
    assert (graph.links, graph.live) == (24, 699)
    assert not index.needs_upkeep
    found = [index.search(vectors[row], 1)[0].tolist() == [row] for row in range(700) if row != 3]
    assert np.mean(found) >= 0.98
    await factory.close()


async def test_few_vectors_are_exact_again_and_smaller(indexes: HnswVectorIndexes) -> None:
    vectors = unit(600)
    index = await filled(indexes, vectors)
    before = index.nbytes
    for row in range(540):
        index.remove(row)
    await index.maintain()
    assert inside(index).graph is None
    assert index.nbytes < before // 10
    assert [index.search(vectors[row], 1)[0].tolist() for row in range(540, 600)] == [[row] for row in range(540, 600)]
    await index.close()


async def test_removed_vectors_leave_the_tail(indexes: HnswVectorIndexes) -> None:
    index = await filled(indexes, unit(190))
    for row in range(0, 190, 2):
        index.remove(row)
    await index.maintain()
    assert inside(index).tail.length == 95
    assert len(index.search(unit(1)[0], 200)[0]) == 95
    await index.close()


async def test_all_rows_can_go_and_others_come(indexes: HnswVectorIndexes) -> None:
    index = await filled(indexes, unit(600))
    for row in range(600):
        index.remove(row)
    assert len(index.search(unit(1)[0], 5)[0]) == 0
    await index.maintain()
    index.add(0, unit(1))
    assert index.search(unit(1)[0], 5)[0].tolist() == [0]
    await index.close()


async def test_everything_works_while_vectors_move_and_rebuild(indexes: HnswVectorIndexes) -> None:
    vectors = unit(6_000)
    index = indexes.create(DIMENSIONS)
    live: set[int] = set()
    rebuilt = searched = found_itself = 0
    random = np.random.default_rng(1)
    work = asyncio.ensure_future(index.maintain())
    for row, vector in enumerate(vectors):
        index.add(row, vector[None])
        live.add(row)
        if row % 3 == 2:
            victim = row - int(random.integers(0, min(row, 300)))
            index.remove(victim)
            live.discard(victim)
        if row % 10 == 9:
            probe = max(live)
            rows, scores = index.search(vectors[probe], 5)
            assert set(rows.tolist()) <= live
            np.testing.assert_allclose(scores, vectors[rows] @ vectors[probe], atol=1e-5)
            searched += 1
            found_itself += int(rows[0] == probe)
            await asyncio.sleep(0)
        if work.done():
            await work
            rebuilt += 1
            work = asyncio.ensure_future(index.maintain())
    await work
    await index.maintain()
    assert index.size == len(live)
    contents = inside(index)
    assert contents.tail_dead == np.count_nonzero(contents.table.owners[contents.moved :] < 0)
    assert contents.graph is not None
    assert contents.graph.live + contents.tail.length - contents.tail_dead == len(live)
    assert rebuilt > 1
    assert found_itself >= 0.98 * searched
    probes = random.choice(sorted(live), 300, replace=False)
    assert np.mean([index.search(vectors[row], 1)[0][0] == row for row in probes]) >= 0.98
    await index.close()


async def test_rows_removed_during_a_rebuild_stay_removed(indexes: HnswVectorIndexes) -> None:
    index = await filled(indexes, unit(3_000))
    for row in range(1_200):
        index.remove(row)
    work = asyncio.ensure_future(index.maintain())
    row = 1_200
    while not work.done() and row < 2_500:
        index.remove(row)
        row += 1
        await asyncio.sleep(0.0005)
    await work
    assert index.size == 3_000 - row
    assert min(index.search(unit(1)[0], 3_000)[0].tolist()) == row
    await index.close()


async def test_close_stops_a_long_move_after_its_slice(indexes: HnswVectorIndexes) -> None:
    index = indexes.create(DIMENSIONS)
    for row, vector in enumerate(unit(8_000)):
        index.add(row, vector[None])
    work = asyncio.ensure_future(index.maintain())
    await asyncio.sleep(0)
    await index.close()
    await work
    assert index.size == 8_000
    assert inside(index).tail.length > 50
    assert len(index.search(unit(1)[0], 10)[0]) == 10


async def test_a_cancelled_caller_leaves_the_move_to_close(indexes: HnswVectorIndexes) -> None:
    index = indexes.create(DIMENSIONS)
    for row, vector in enumerate(unit(4_000)):
        index.add(row, vector[None])
    work = asyncio.ensure_future(index.maintain())
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await index.close()
    assert not index._running


async def test_vectors_are_not_held_twice() -> None:
    indexes = HnswVectorIndexes(HnswSettings(crossover=1_000))
    index = indexes.create(384)
    vectors = np.random.default_rng(0).standard_normal((3_000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for row, vector in enumerate(vectors):
        index.add(row, vector[None])
    await index.maintain()
    contents = inside(index)
    assert contents.graph is not None
    blocks = 2 * 2_048  # the newest vectors' block, and one whose front is in hnswlib already
    assert index.nbytes < 2_800_000 + contents.graph.held * 1_950 + blocks * 384 * 4
    await index.close()
    await indexes.close()


async def test_a_small_partition_is_small() -> None:
    indexes = HnswVectorIndexes()
    index = indexes.create(DIMENSIONS)
    assert index.nbytes < 1_024
    for row, vector in enumerate(unit(100)):
        index.add(row, vector[None])
    assert index.nbytes < 128 * DIMENSIONS * 4 + 4_096
    await index.close()
    await indexes.close()


@pytest.mark.parametrize(
    "wrong", [{"crossover": 0}, {"build_threads": 0}, {"slice_seconds": 0}, {"tombstone_share": 1}]
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)).split("_")[0]):
        HnswSettings(**wrong)


async def test_maintenance_asked_for_just_when_one_has_ended_does_not_spin() -> None:
    indexes = HnswVectorIndexes()
    index = indexes.create(8)
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    index._maintaining = ended
    ended.add_done_callback(index._maintained)
    ended.set_result(None)  # done, and its callback has not run yet
    await index.maintain()
    await indexes.close()
