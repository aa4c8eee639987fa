from __future__ import annotations

from memsidecar.domain.generation.pacing import Pace
from memsidecar.domain.generation.values import MAX_MIN_CHARS, Backoff, Trigger


def told(pace: Pace, took: float, waiting: int, times: int) -> list[Backoff]:
    changes = (pace.answered(took, waiting) for _ in range(times))
    return [change for change in changes if change is not None]


def numbers(changes: list[Backoff]) -> list[tuple[int, float]]:
    return [(change.min_chars, round(change.min_interval, 3)) for change in changes]


def test_three_late_answers_in_a_row_double_the_trigger_and_that_is_told_once() -> None:
    pace = Pace(Trigger(160, 0.05))
    assert told(pace, 0.08, 2, 2) == []
    assert numbers(told(pace, 0.08, 2, 10)) == [(320, 0.1)]
    assert (pace.effective.min_chars, pace.effective.min_interval) == (320, 0.1)
    assert pace.effective.on_sentence_end


def test_answers_that_are_slow_but_keep_up_change_nothing() -> None:
    pace = Pace(Trigger())
    assert told(pace, 5.0, 1, 20) == []
    assert told(pace, 0.04, 9, 20) == []


def test_an_answer_in_time_begins_the_count_anew() -> None:
    pace = Pace(Trigger())
    assert [told(pace, 1.0, 2, 2), told(pace, 0.04, 2, 1), told(pace, 1.0, 2, 2)] == [[], [], []]


def test_it_goes_on_until_the_interval_is_as_long_as_an_answer_takes() -> None:
    pace = Pace(Trigger(160, 0.05))
    assert numbers(told(pace, 0.3, 5, 100)) == [(320, 0.1), (640, 0.2), (1280, 0.4)]


def test_it_stops_at_sixty_four_times_and_at_the_limits_of_the_contract() -> None:
    pace = Pace(Trigger(160, 0.05))
    assert numbers(told(pace, 500.0, 5, 100))[-1] == (MAX_MIN_CHARS, 3.2)
    pace = Pace(Trigger(MAX_MIN_CHARS, 60.0))
    assert told(pace, 500.0, 5, 100) == []


def test_eight_early_answers_in_a_row_relax_it_down_to_what_was_asked_for() -> None:
    asked = Trigger(160, 0.05)
    pace = Pace(asked)
    told(pace, 0.3, 5, 100)
    assert numbers(told(pace, 0.01, 0, 40)) == [(640, 0.2), (320, 0.1), (160, 0.05)]
    assert pace.effective == asked


def test_no_interval_at_all_still_has_somewhere_to_go() -> None:
    pace = Pace(Trigger(160, 0.0))
    assert numbers(told(pace, 0.08, 2, 20)) == [(320, 0.1)]
    assert numbers(told(pace, 0.0, 0, 8)) == [(160, 0.0)]
