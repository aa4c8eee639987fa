"""The best rows, ties included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.adapters.hnsw_vectors.exact_tail import ExactTail
from memsidecar.adapters.hnsw_vectors.ranking import best_rows


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(-3, 3)), max_size=40), st.integers(0, 12))
def test_best_rows_are_those_of_a_full_sort(pairs: list[tuple[int, int]], k: int) -> None:
    rows = np.array([row for row, _ in pairs], np.int32)
    scores = np.array([score for _, score in pairs], np.float32)
    best: dict[int, int] = {}
    for row, score in pairs:
        best[row] = max(score, best.get(row, score))
    expected = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]
    found = best_rows(rows, scores, k, distinct=False)
    assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected


@given(st.lists(st.tuples(st.integers(0, 150), st.integers(0, 200)), max_size=25))
def test_the_tail_is_a_queue(steps: list[tuple[int, int]]) -> None:
    tail, expected, following = ExactTail(2), np.empty((0, 2), np.float32), 0
    query = np.array([1, 0], np.float32)
    for added, dropped in steps:
        fresh = np.arange(following, following + added, dtype=np.float32).repeat(2).reshape(added, 2)
        following += added
        tail.append(fresh)
        tail.drop(min(dropped, tail.length))
        expected = np.concatenate((expected, fresh))[min(dropped, len(expected) + added) :]
        assert tail.length == len(expected)
        np.testing.assert_array_equal(tail.scores(query), expected[:, 0])
        picked = np.arange(0, len(expected), 3)
        np.testing.assert_array_equal(tail.take(picked), expected[picked])
        np.testing.assert_array_equal(tail.dots(picked, query), expected[picked, 0])
