from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.keyword import K1
from memsidecar.domain.ranking import (
    DAY,
    Profile,
    Signals,
    answer_confidence,
    explain,
    freshness,
    main_tiers,
    order,
    score,
)
from memsidecar.domain.recall import Tier

_share = st.floats(0, 1, width=32)


@st.composite
def _signals(draw: st.DrawFn) -> Signals:
    count = draw(st.integers(1, 8))

    def column(values: st.SearchStrategy[float], kind: Any = np.float32) -> Any:
        return np.array(draw(st.lists(values, min_size=count, max_size=count)), dtype=kind)

    places: Any = st.integers(-1, count - 1)
    times: Any = st.integers(-(2**57), 2**57)
    return Signals(
        keyword=column(st.floats(0, float(np.float32(K1 + 1)), width=32)),
        cosine=column(st.floats(-1, 1, width=32)),
        entity=column(_share),
        speaker=column(st.sampled_from([0.0, 1.0])),
        before=column(places, np.intp),
        after=column(places, np.intp),
        said=column(times, np.int64),
        importance=column(_share),
        confidence=column(_share),
        usefulness=column(st.floats(-1, 1, width=32)),
        accesses=column(st.integers(0, 1000), np.uint32),
    )


_profiles = st.sampled_from(
    [Profile(), Profile(spread=0.05), Profile(freshness=0.2), Profile(freshness=0.0), Profile(accesses=0.1)]
)


@given(_signals(), _profiles)
def test_scores_lie_in_range_and_their_components_add_up(signals: Signals, profile: Profile) -> None:
    now = 1_700_000_000_000_000
    scores = score(signals, profile, now)
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()
    for index, total in enumerate(scores.tolist()):
        components = explain(signals, index, profile, now, total)
        assert abs(sum(c.contribution for c in components) - total) < 2e-4
        assert len({c.signal for c in components}) == len(components)
        for component in components:
            assert abs(component.raw * component.weight - component.contribution) < 1e-6


def signals(**columns: list[float]) -> Signals:
    count = len(next(iter(columns.values())))
    values: dict[str, Any] = {n: np.zeros(count, dtype=np.float32) for n in Signals.__dataclass_fields__}
    values |= {"before": np.full(count, -1), "after": np.full(count, -1), "said": np.zeros(count, dtype=np.int64)}
    values |= {name: np.array(column, dtype=values[name].dtype) for name, column in columns.items()}
    return Signals(**values)


def test_every_signal_lifts() -> None:
    plain = float(score(signals(cosine=[0.3]), Profile(), 0)[0])
    for name in ("keyword", "entity", "speaker", "importance", "confidence"):
        assert float(score(signals(**{"cosine": [0.3], name: [1.0]}), Profile(), 0)[0]) > plain


def test_the_same_text_comes_first() -> None:
    scores = score(signals(keyword=[1.0, 0.4, 0.0], cosine=[1.0, 0.7, 0.9]), Profile(), 0)
    assert order(scores, np.array([2, 1, 0]), 3)[0] == 0


def test_a_good_neighbour_lifts_and_a_missing_one_does_not() -> None:
    alone = score(signals(cosine=[0.1, 0.9]), Profile(), 0)
    beside = score(signals(cosine=[0.1, 0.9], after=[1, -1]), Profile(), 0)
    assert beside[0] > alone[0]
    assert beside[1] == alone[1]


def test_equal_scores_come_oldest_first() -> None:
    scores = np.array([0.5, 0.7, 0.5, 0.5], dtype=np.float32)
    assert order(scores, np.array([9, 3, 1, 4]), 3).tolist() == [1, 2, 3]


def test_freshness_falls_to_a_third_in_its_days_and_never_rises_above_one() -> None:
    now = 100 * DAY
    found = freshness(np.array([now, now - 30 * DAY, now + 5 * DAY, -(2**61)], dtype=np.int64), now, 30.0)
    assert np.allclose(found, [1.0, np.exp(-1), 1.0, 0.0])


def test_the_tier_that_gave_most_is_named() -> None:
    mixed = signals(keyword=[1.0, 0.0, 0.0], cosine=[0.1, 0.9, 0.0], entity=[0.0, 0.0, 1.0])
    assert main_tiers(mixed, Profile())[:3] == [Tier.KEYWORD, Tier.VECTOR, Tier.GRAPH]


@given(st.lists(st.tuples(_share, st.booleans()), max_size=10))
def test_confidence_lies_in_range(hits: list[tuple[float, bool]]) -> None:
    ranked = sorted(hits, reverse=True)
    scores, named = [s for s, _ in ranked], [n for _, n in ranked]
    assert 0 <= answer_confidence(scores, named) <= answer_confidence(scores, None) <= 1
