from __future__ import annotations

from memsidecar.domain.measures import Calls, Histogram


def test_a_value_on_a_bound_is_below_it_and_one_above_all_is_counted_too() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 9.0):
        histogram.observe(value)
    assert (histogram.counts, histogram.total) == ([2, 2, 1], 14.0)


def test_outcomes_that_are_expected_are_there_before_the_first_call() -> None:
    calls = Calls("ok", "away")
    calls.note("ok", 0.5, items=3)
    calls.note("odd", 0.5)
    assert calls.ended == {"ok": 1, "away": 0, "odd": 1}
    assert (calls.items, calls.seconds.total) == (4, 1.0)
