from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.bm25 import K1
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.profile import PROFILES, Profile, with_weights
from memsidecar.domain.ranking import DAY, ROUNDING, Scored, Signals, evened, freshness, order, rank
from memsidecar.domain.recall import Tier

NOW = 1_700_000_000_000_000
BONUSES = ("entity", "speaker", "date", "instruction", "preference")
_share = st.floats(0, 1, width=32)
_bit = st.sampled_from([0.0, 1.0])


@st.composite
def _signals(draw: st.DrawFn) -> Signals:
    count = draw(st.integers(1, 8))

    def column(values: st.SearchStrategy[Any], kind: Any = np.float32) -> Any:
        return np.array(draw(st.lists(values, min_size=count, max_size=count)), dtype=kind)

    def maybe(values: st.SearchStrategy[Any], kind: Any = np.float32) -> Any:
        return column(values, kind) if draw(st.booleans()) else None

    places: Any = st.integers(-1, count - 1)
    dialogue = maybe(st.booleans(), np.bool_)
    return Signals(
        keyword=column(st.floats(0, float(np.float32(K1 + 1)), width=32)),
        cosine=column(st.floats(-1, 1, width=32)),
        said=column(st.integers(-(2**57), 2**57), np.int64),
        importance=column(_share),
        confidence=column(_share),
        chunks=maybe(st.floats(0, 2, width=32)),
        entity=maybe(_share),
        speaker=maybe(_bit),
        assistant=maybe(_bit),
        instruction=maybe(_bit),
        preference=maybe(_bit),
        date=maybe(_bit),
        dialogue=dialogue,
        assisted=maybe(st.booleans(), np.bool_),
        echo=maybe(_share),
        before=column(places, np.intp) if dialogue is not None else None,
        after=column(places, np.intp) if dialogue is not None else None,
        session=column(st.integers(0, 3), np.int32) if dialogue is not None else None,
        usefulness=maybe(st.floats(-1, 1, width=32)),
        accesses=maybe(st.integers(0, 1000), np.uint32),
    )


_profiles = st.sampled_from(
    [*PROFILES.values(), Profile(spread=0.05), Profile(freshness=0.0), Profile(keyword=0.0), Profile(accesses=0.1)]
)


@given(_signals(), _profiles, st.booleans(), st.booleans())
def test_scores_lie_in_range_and_their_components_add_up(
    signals: Signals, profile: Profile, broad: bool, leads: bool
) -> None:
    def associate(best: Any, relevance: Any) -> Any:
        assert (relevance >= 0).all()
        return np.full(len(signals.keyword), relevance.max(), dtype=np.float32) if leads else None

    scored = rank(signals, profile, NOW, broad=broad, associate=associate)
    assert scored.scores.dtype == np.float32
    assert ((scored.scores >= 0) & (scored.scores <= 1)).all()
    for index, total in enumerate(scored.scores.tolist()):
        components = scored.explain(index)
        assert abs(sum(c.contribution for c in components) - total) < 2e-6
        assert len({c.signal for c in components}) == len(components)
        for component in components:
            assert abs(component.raw * component.weight - component.contribution) < 1e-6


def signals(**columns: list[Any]) -> Signals:
    count = len(next(iter(columns.values())))
    kinds: dict[str, Any] = {"before": np.intp, "after": np.intp, "said": np.int64, "session": np.int32}
    kinds |= {"dialogue": np.bool_, "assisted": np.bool_}
    values: dict[str, Any] = {n: np.zeros(count, np.float32) for n in ("keyword", "cosine", "importance", "confidence")}
    values["said"] = np.zeros(count, dtype=np.int64)
    values |= {name: np.array(column, dtype=kinds.get(name, np.float32)) for name, column in columns.items()}
    return Signals(**values)


def scores(profile: Profile = PROFILES["default"], /, **columns: Any) -> list[float]:
    broad = bool(columns.pop("broad", False))
    found: list[float] = rank(signals(**columns), profile, 0, broad=broad).scores.tolist()
    return found


@pytest.mark.parametrize("name", ["keyword", "importance", "confidence", *BONUSES])
def test_every_signal_lifts(name: str) -> None:
    assert scores(cosine=[0.3], **{name: [1.0]})[0] > scores(cosine=[0.3])[0]


def test_what_an_assistant_said_stands_behind_what_the_user_said() -> None:
    user, assistant = scores(cosine=[0.5, 0.5], assistant=[0, 1])
    assert user > assistant


def test_the_best_of_many_chunks_counts_less() -> None:
    short, long = scores(cosine=[0.5, 0.5], chunks=[0.0, 2.0])
    assert short > long


def test_the_same_text_comes_first() -> None:
    found = np.array(scores(keyword=[1.0, 0.4, 0.0], cosine=[1.0, 0.7, 0.9]), dtype=np.float32)
    assert order(found, np.zeros(3, dtype=np.int64), np.array([2, 1, 0]), 3)[0] == 0


TALK: dict[str, list[Any]] = {"before": [-1, 0, 1], "after": [1, 2, -1], "session": [1, 1, 2], "dialogue": [True] * 3}


def test_neighbours_share_their_relevance_between_people_only() -> None:
    profile = Profile(session=0.0)
    alone = scores(profile, cosine=[0.1, 0.9, 0.0])
    beside = scores(profile, cosine=[0.1, 0.9, 0.0], **TALK)
    assert beside[0] > alone[0]
    assert beside[2] > alone[2]
    assert scores(profile, cosine=[0.1, 0.9, 0.0], **(TALK | {"dialogue": [False, True, False]}))[0] == alone[0]


def test_a_session_shares_its_best_turn_unless_several_things_are_asked_for() -> None:
    profile = Profile(neighbour=0.0)
    alone = scores(profile, cosine=[0.1, 0.9, 0.1])
    together = scores(profile, cosine=[0.1, 0.9, 0.1], **TALK)
    assert together[0] > together[2] > alone[2]
    assert scores(profile, broad=True, cosine=[0.1, 0.9, 0.1], **TALK) == alone


def test_the_graph_lifts_what_is_connected_to_the_best_but_not_what_an_assistant_said() -> None:
    def associate(best: Any, relevance: Any) -> Any:
        assert best[0] == 1
        return np.array([relevance[0], 0, relevance[0]], dtype=np.float32)

    found = rank(signals(cosine=[0.1, 0.9, 0.1], assisted=[0, 0, 1]), Profile(), 0, associate=associate).scores
    assert found[0] > found[2]


def test_the_main_tier_is_that_of_the_greatest_part() -> None:
    mixed = signals(keyword=[1.0, 0.1, 0.0], cosine=[0.1, 0.9, 0.01], entity=[0.0, 0.0, 1.0])
    scored = rank(mixed, Profile(), 0)
    assert [scored.main_tier(index) for index in range(3)] == [Tier.KEYWORD, Tier.VECTOR, Tier.GRAPH]


def test_of_equal_scores_the_newest_comes_first_and_of_one_time_what_was_stored_first() -> None:
    found = np.array([0.5, 0.7, 0.5, 0.5, 0.5], dtype=np.float32)
    said = np.array([7, 1, 7, 9, 2])
    assert order(found, said, np.array([9, 8, 3, 5, 1]), 4).tolist() == [1, 3, 2, 0]


@pytest.mark.parametrize("apart", [1, 10, 60, 3_600])
@pytest.mark.parametrize("name", ["default", "recent", "balanced"])
def test_what_is_as_relevant_comes_newest_first_however_little_lies_between(apart: int, name: str) -> None:
    said = np.arange(200, dtype=np.int64) * apart * 1_000_000
    cosine = np.full(200, 0.4, dtype=np.float32) + np.resize(np.array([0, 3e-8, -3e-8], dtype=np.float32), 200)
    found = rank(signals(cosine=cosine.tolist(), said=said.tolist()), PROFILES[name], int(said[-1])).scores
    assert order(found, said, np.arange(200), 200).tolist() == list(range(199, -1, -1))


@given(st.lists(st.floats(0, 1, width=32), max_size=30), st.data())
def test_scores_that_rounding_alone_tells_apart_are_equal(drawn: list[float], data: st.DataObject) -> None:
    # A grid that is coarser than rounding, and each value off by less than rounding.
    grid = np.round(np.array(drawn, dtype=np.float32), 3)
    off = np.array([data.draw(st.floats(-4e-7, 4e-7)) for _ in drawn], dtype=np.float32)
    even = evened(grid + off)
    assert np.all(even >= grid + off)
    assert np.all(even - (grid + off) <= ROUNDING)
    assert (np.equal.outer(even, even) == np.equal.outer(grid, grid)).all()
    again = evened((grid + off)[::-1])[::-1]
    assert (again == even).all()


def test_freshness_falls_with_age_and_what_dates_itself_later_is_fresh() -> None:
    said = np.array([0, -30 * DAY, 30 * DAY], dtype=np.int64)
    assert freshness(said, 0, 30.0) == pytest.approx([1.0, np.exp(-1), 1.0])


def test_weights_can_be_changed_by_name() -> None:
    assert with_weights(Profile(), {"neighbour": 0.0, "freshness_days": 90.0}, "w").freshness_days == 90.0


@pytest.mark.parametrize(
    "weights",
    [{"nonsense": 1.0}, {"spread": 1.0}, {"keyword": -1.0}, {"keyword": float("nan")}, {"session": 11.0},
     {"freshness_days": 0.0}, {"freshness": 0.6, "importance": 0.6}],
)  # fmt: skip
def test_weights_that_cannot_be_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(InvalidField):
        with_weights(Profile(), weights, "options.weights")


def test_a_signal_that_no_candidate_has_is_no_component() -> None:
    scored: Scored = rank(signals(keyword=[0.5], cosine=[0.0]), Profile(freshness=0.0), 0)
    assert [c.signal for c in scored.explain(0)] == ["keyword"]
