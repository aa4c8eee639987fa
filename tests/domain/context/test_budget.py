from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.context.budget import Need, allocate

NEEDS = st.lists(
    st.builds(Need, most=st.integers(0, 5000), least=st.integers(0, 2000), weight=st.floats(0, 1000)), max_size=8
)


@given(st.integers(-10, 10_000), NEEDS)
def test_nobody_gets_more_than_there_is_or_than_it_can_use(budget: int, needs: list[Need]) -> None:
    given_out = allocate(budget, needs)
    assert len(given_out) == len(needs)
    assert sum(given_out) <= max(0, budget)
    assert all(0 <= got <= need.most for got, need in zip(given_out, needs, strict=True))


@given(st.integers(0, 10_000), NEEDS)
def test_minima_that_fit_are_kept(budget: int, needs: list[Need]) -> None:
    minima = [min(need.least, need.most) for need in needs]
    if sum(minima) <= budget:
        assert all(got >= least for got, least in zip(allocate(budget, needs), minima, strict=True))


@given(st.integers(0, 10_000), NEEDS)
def test_nothing_is_left_while_somebody_with_a_weight_wants_it(budget: int, needs: list[Need]) -> None:
    given_out = allocate(budget, needs)
    wanting = [n for got, n in zip(given_out, needs, strict=True) if got < n.most and n.weight > 0]
    assert not wanting or sum(given_out) == budget


@given(st.integers(0, 10_000), NEEDS)
def test_the_same_is_given_again(budget: int, needs: list[Need]) -> None:
    assert allocate(budget, needs) == allocate(budget, list(needs))


def test_the_rest_goes_by_weight_and_flows_on() -> None:
    assert allocate(100, [Need(1000, 0, 1.0), Need(1000, 0, 3.0)]) == [25, 75]
    assert allocate(100, [Need(1000, 0, 1.0), Need(30, 0, 3.0)]) == [70, 30]
    assert allocate(100, [Need(1000, 40, 1.0), Need(1000, 0, 1.0)]) == [70, 30]


def test_minima_beyond_the_budget_share_it_evenly() -> None:
    assert allocate(10, [Need(100, 100), Need(100, 20), Need(100, 3)]) == [4, 3, 3]


def test_without_a_weight_there_is_only_the_minimum() -> None:
    assert allocate(100, [Need(80, 5, 0.0), Need(20)]) == [5, 20]
