"""What every VectorIndex promises, below and above its crossover, against plain numpy."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from numpy.typing import NDArray

from memsidecar.adapters.hnsw_vectors import HnswSettings, HnswVectorIndexes
from memsidecar.domain.events import Matrix
from memsidecar.ports.vectors import Rows, Scores, VectorIndex, VectorIndexes

EXACT = HnswSettings(crossover=1_000_000)
MIXED = HnswSettings(crossover=64)
REGIMES = {"exact": EXACT, "hnswlib": MIXED}


class Oracle:
    """The same promises, the slow way."""

    def __init__(self) -> None:
        self.vectors: dict[int, Matrix] = {}

    def scores(self, query: Matrix, allowed: NDArray[np.bool_] | None = None) -> dict[int, float]:
        return {
            row: float((vectors @ query).max())
            for row, vectors in self.vectors.items()
            if allowed is None or (row < len(allowed) and allowed[row])
        }

    def best(self, query: Matrix, k: int, allowed: NDArray[np.bool_] | None = None) -> list[int]:
        scores = self.scores(query, allowed)
        return sorted(scores, key=lambda row: (-scores[row], row))[:k]


def unit(count: int, dimensions: int, seed: int) -> Matrix:
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def clustered(count: int, dimensions: int, seed: int) -> Matrix:
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(10, count // 50), dimensions))
    vectors = centres[random.integers(0, len(centres), count)] + 0.5 * random.standard_normal((count, dimensions))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def assert_right(
    oracle: Oracle, query: Matrix, k: int, allowed: NDArray[np.bool_] | None, found: tuple[Rows, Scores]
) -> None:
    """Everything but recall: how many, which may be, each with its own cosine, in order."""
    rows, scores = found
    truth = oracle.scores(query, allowed)
    assert rows.dtype == np.int32
    assert scores.dtype == np.float32
    assert len(rows) == len(scores) == min(k, len(truth))
    assert len(set(rows.tolist())) == len(rows)
    np.testing.assert_allclose(scores, [truth[row] for row in rows.tolist()], atol=1e-5)
    assert all(a > b or (a == b and p < q) for a, b, p, q in zip(scores, scores[1:], rows, rows[1:], strict=False))


def recall(oracle: Oracle, query: Matrix, k: int, allowed: NDArray[np.bool_] | None, rows: Rows) -> float:
    best = oracle.best(query, k, allowed)
    return len(set(best) & set(rows.tolist())) / len(best) if best else 1.0


@pytest.fixture(params=REGIMES)
async def indexes(request: pytest.FixtureRequest) -> AsyncIterator[VectorIndexes]:
    factory: VectorIndexes = HnswVectorIndexes(REGIMES[request.param])
    yield factory
    await factory.close()


async def filled(indexes: VectorIndexes, vectors: Matrix) -> tuple[VectorIndex, Oracle]:
    index, oracle = indexes.create(vectors.shape[1]), Oracle()
    for row, vector in enumerate(vectors):
        index.add(row, vector[None])
        oracle.vectors[row] = vector[None]
    await index.maintain()
    return index, oracle


async def test_empty_index_finds_nothing(indexes: VectorIndexes) -> None:
    index = indexes.create(8)
    rows, scores = index.search(unit(1, 8, 0)[0], 5)
    assert (len(rows), len(scores), index.size) == (0, 0, 0)
    assert index.score(unit(1, 8, 0)[0], np.array([0, 3], np.int32)).tolist() == [-1.0, -1.0]
    await index.maintain()
    await index.close()


async def test_a_row_scores_as_its_best_vector_and_comes_once(indexes: VectorIndexes) -> None:
    index, oracle = indexes.create(16), Oracle()
    vectors = clustered(900, 16, 1)
    for row in range(300):
        index.add(row, vectors[3 * row : 3 * row + 3])
        oracle.vectors[row] = vectors[3 * row : 3 * row + 3]
    await index.maintain()
    for query in unit(20, 16, 2):
        found = index.search(query, 10)
        assert_right(oracle, query, 10, None, found)
        assert recall(oracle, query, 10, None, found[0]) >= 0.9
    assert index.size == 900
    await index.close()


async def test_recall_is_at_least_98_percent_on_clustered_vectors(indexes: VectorIndexes) -> None:
    vectors = clustered(2_000, 32, 3)
    index, oracle = await filled(indexes, vectors[:1_940])
    recalls = []
    for query in vectors[1_940:]:
        found = index.search(query, 10)
        assert_right(oracle, query, 10, None, found)
        recalls.append(recall(oracle, query, 10, None, found[0]))
    assert np.mean(recalls) >= 0.98
    await index.close()


@pytest.mark.parametrize("share", [0.0, 0.002, 0.02, 0.3, 1.0])
async def test_filter_never_shrinks_the_answer(indexes: VectorIndexes, share: float) -> None:
    vectors = clustered(1_500, 16, 4)
    index, oracle = await filled(indexes, vectors)
    random = np.random.default_rng(5)
    recalls = []
    for query in unit(20, 16, 6):
        allowed = random.random(1_500) < share
        found = index.search(query, 10, allowed)
        assert_right(oracle, query, 10, allowed, found)
        recalls.append(recall(oracle, query, 10, allowed, found[0]))
    assert np.mean(recalls) >= 0.98
    await index.close()


async def test_filter_that_allows_only_the_farthest_rows_is_met(indexes: VectorIndexes) -> None:
    index, oracle = await filled(indexes, clustered(1_200, 16, 7))
    query = unit(1, 16, 8)[0]
    allowed = np.zeros(1_200, np.bool_)
    allowed[oracle.best(query, 1_200)[-300:]] = True
    found = index.search(query, 20, allowed)
    assert_right(oracle, query, 20, allowed, found)
    assert recall(oracle, query, 20, allowed, found[0]) >= 0.98
    await index.close()


async def test_rows_beyond_the_filter_are_not_allowed(indexes: VectorIndexes) -> None:
    index, oracle = await filled(indexes, unit(200, 8, 9))
    query, allowed = unit(1, 8, 10)[0], np.ones(50, np.bool_)
    assert_right(oracle, query, 100, allowed, index.search(query, 100, allowed))
    await index.close()


async def test_equal_scores_come_by_row(indexes: VectorIndexes) -> None:
    same = np.repeat(unit(1, 8, 11), 40, axis=0)
    index, _ = await filled(indexes, same)
    assert index.search(same[0], 7)[0].tolist() == [0, 1, 2, 3, 4, 5, 6]
    await index.close()


async def test_search_sees_every_add_and_no_removed_row(indexes: VectorIndexes) -> None:
    vectors = unit(300, 8, 12)
    index, _ = await filled(indexes, vectors[:200])
    for row in range(200, 300):
        index.add(row, vectors[row : row + 1])
        assert index.search(vectors[row], 1)[0].tolist() == [row]
    for row in range(0, 300, 2):
        index.remove(row)
        index.remove(row)
        assert index.search(vectors[row], 1)[0].tolist() != [row]
    assert index.size == 150
    await index.maintain()
    assert index.search(vectors[1], 1)[0].tolist() == [1]
    await index.close()


async def test_score_is_the_cosine_and_minus_one_for_absent_rows(indexes: VectorIndexes) -> None:
    index, oracle = await filled(indexes, unit(300, 8, 13))
    index.remove(7)
    query = unit(1, 8, 14)[0]
    scores = index.score(query, np.array([299, 7, 0, 5_000, -3, 0], np.int32))
    truth = oracle.scores(query)
    np.testing.assert_allclose(scores, [truth[299], -1, truth[0], -1, -1, truth[0]], atol=2e-5)
    assert index.score(query, np.empty(0, np.int32)).tolist() == []
    await index.close()


async def test_wrong_vectors_are_refused_and_nothing_is_added(indexes: VectorIndexes) -> None:
    index = indexes.create(8)
    good = unit(2, 8, 15)
    nan, infinite = good.copy(), good.copy()
    nan[1, 3], infinite[0, 0] = np.nan, np.inf
    wrong = [good[:, :7], good[0], good[:0], good.astype(np.float64), nan, infinite, good * 0, good * 2]
    for vectors in wrong:
        with pytest.raises(ValueError, match="vectors are"):
            index.add(0, vectors)
    with pytest.raises(ValueError, match="negative"):
        index.add(-1, good)
    index.add(0, good)
    with pytest.raises(ValueError, match="there already"):
        index.add(0, good)
    assert index.size == 2
    await index.close()


async def test_wrong_queries_are_refused(indexes: VectorIndexes) -> None:
    index, _ = await filled(indexes, unit(200, 8, 16))
    good = unit(1, 8, 17)[0]
    nan = good.copy()
    nan[2] = np.nan
    for query in [good[:7], unit(1, 9, 0)[0], good[None], good.astype(np.float64), nan, good * 0]:
        with pytest.raises(ValueError, match="a query is"):
            index.search(query, 3)
        with pytest.raises(ValueError, match="a query is"):
            index.score(query, np.zeros(1, np.int32))
    await index.close()


async def test_saved_index_comes_back_whole(indexes: VectorIndexes, tmp_path: Path) -> None:
    index, oracle = await filled(indexes, unit(400, 8, 18))
    for row in range(60):
        index.remove(row)
        del oracle.vectors[row]
    await index.save(tmp_path / "v")
    await index.close()
    loaded = await indexes.load(tmp_path / "v", 8)
    assert loaded is not None
    assert (loaded.size, loaded.dimensions) == (340, 8)
    for query in unit(10, 8, 19):
        assert_right(oracle, query, 10, None, loaded.search(query, 10))
    loaded.add(0, oracle.vectors[399])
    assert loaded.search(oracle.vectors[399][0], 2)[0].tolist() == [0, 399]
    await loaded.close()


async def test_nothing_is_loaded_where_nothing_was_saved(indexes: VectorIndexes, tmp_path: Path) -> None:
    assert await indexes.load(tmp_path / "none", 8) is None


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_long_life(indexes: VectorIndexes, tmp_path: Path, seed: int) -> None:
    index, oracle, next_row, recalls = indexes.create(16), Oracle(), 0, []
    random = np.random.default_rng(seed)
    for step in range(120):
        for row in range(next_row, next_row + int(random.integers(1, 40))):
            oracle.vectors[row] = unit(int(random.integers(1, 3)), 16, row)
            index.add(row, oracle.vectors[row])
            next_row = row + 1
        for row in random.choice(
            next_row, int(next_row * random.choice([0, 0, 0.02, 0.1, 0.6])), replace=False
        ).tolist():
            index.remove(row)
            oracle.vectors.pop(row, None)
        if random.random() < 0.5:
            await index.maintain()
        if step % 20 == 7:
            await index.save(tmp_path)
            await index.close()
            loaded = await indexes.load(tmp_path, 16)
            assert loaded is not None
            index = loaded
        for share in (None, 0.5, 0.05):
            query, k = unit(1, 16, 1_000_000 + step)[0], int(random.integers(1, 40))
            allowed = None if share is None else random.random(next_row) < share
            found = index.search(query, k, allowed)
            assert_right(oracle, query, k, allowed, found)
            recalls.append(recall(oracle, query, k, allowed, found[0]))
    assert index.size == sum(map(len, oracle.vectors.values()))
    assert np.mean(recalls) >= 0.98
    await index.close()


class VectorIndexMachine(RuleBasedStateMachine):
    """Any order of everything that can happen to an index."""

    regime = EXACT
    dimensions = 8

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.indexes: VectorIndexes = HnswVectorIndexes(self.regime)
        self.index: VectorIndex = self.indexes.create(self.dimensions)
        self.oracle = Oracle()
        self.next_row = 0
        self.recalls: list[float] = []
        self.add(150, 2, 0)

    @rule(rows=st.integers(1, 120), most=st.integers(1, 3), seed=st.integers(0, 2**32))
    def add(self, rows: int, most: int, seed: int) -> None:
        for row in range(self.next_row, self.next_row + rows):
            vectors = unit(1 + (row * 7 + seed) % most, self.dimensions, seed + row)
            self.index.add(row, vectors)
            self.oracle.vectors[row] = vectors
        self.next_row += rows

    @rule(share=st.sampled_from([0.01, 0.1, 0.4, 0.9]), seed=st.integers(0, 2**32))
    def remove(self, share: float, seed: int) -> None:
        for row in np.flatnonzero(np.random.default_rng(seed).random(self.next_row + 2) < share).tolist():
            self.index.remove(row)
            self.oracle.vectors.pop(row, None)

    @rule(k=st.integers(0, 30), share=st.sampled_from([None, None, 0.0, 0.02, 0.2, 0.8]), seed=st.integers(0, 2**32))
    def search(self, k: int, share: float | None, seed: int) -> None:
        query = unit(1, self.dimensions, seed)[0]
        allowed = None if share is None else np.random.default_rng(seed).random(self.next_row) < share
        found = self.index.search(query, k, allowed)
        assert_right(self.oracle, query, k, allowed, found)
        self.recalls.append(recall(self.oracle, query, k, allowed, found[0]))

    @rule()
    def maintain(self) -> None:
        self.runner.run(self.index.maintain())

    @rule()
    def save(self) -> None:
        self.runner.run(self.index.save(self.folder))
        self.runner.run(self.index.close())
        loaded = self.runner.run(self.indexes.load(self.folder, self.dimensions))
        assert loaded is not None
        self.index = loaded

    @invariant()
    def vectors_are_given_back(self) -> None:
        rows = np.array([*list(self.oracle.vectors)[:5], 10**6], np.int32)
        taken = self.index.take(rows)
        assert taken.dtype == np.float32
        for row, vector in zip(rows.tolist(), taken, strict=True):
            expected = self.oracle.vectors[row][0] if row in self.oracle.vectors else np.zeros_like(vector)
            np.testing.assert_allclose(vector, expected, atol=1e-5)

    @invariant()
    def size_is_what_is_held(self) -> None:
        assert self.index.size == sum(map(len, self.oracle.vectors.values()))

    def teardown(self) -> None:
        self.runner.run(self.index.close())
        self.runner.run(self.indexes.close())
        self.runner.close()
        shutil.rmtree(self.folder)
        assert np.mean(self.recalls or [1.0]) >= (0.9999 if self.regime is EXACT else 0.98)


class MixedMachine(VectorIndexMachine):
    regime = HnswSettings(crossover=40, tombstone_share=0.2)


_QUICK = settings(max_examples=30, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
TestExactIndexInAnyOrder = VectorIndexMachine.TestCase
TestExactIndexInAnyOrder.settings = _QUICK
TestMixedIndexInAnyOrder = MixedMachine.TestCase
TestMixedIndexInAnyOrder.settings = _QUICK


async def test_an_index_without_a_size_takes_that_of_its_first_vectors(indexes: VectorIndexes) -> None:
    index = indexes.create(0)
    assert index.dimensions == 0
    assert len(index.search(unit(1, 8, 1)[0], 5)[0]) == 0
    assert index.score(unit(1, 8, 1)[0], np.array([3], dtype=np.int32)).tolist() == [-1.0]
    vectors = unit(2, 8, 2)
    index.add(4, vectors)
    assert index.dimensions == vectors.shape[1]
    assert index.search(vectors[1], 5)[0].tolist() == [4]
    with pytest.raises(ValueError, match="float32"):
        index.add(5, vectors[:, :-1])
    await index.close()
