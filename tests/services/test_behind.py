from __future__ import annotations

from memsidecar.services.behind import MARK_EVERY, MOST_MARKS, Behind


def test_the_age_is_that_of_the_oldest_that_is_left() -> None:
    behind = Behind()
    assert behind.seconds(100.0) == 0.0
    behind.given(1, 100.0)
    behind.given(2, 110.0)
    assert behind.seconds(112.0) == 12.0
    behind.reached(1)
    assert behind.seconds(112.0) == 2.0
    behind.reached(2)
    assert behind.seconds(200.0) == 0.0


def test_who_follows_closely_is_never_far_behind_however_long_it_goes_on() -> None:
    behind = Behind()
    for second in range(10_000):
        behind.given(second, float(second))
        behind.reached(second - 2)
        assert behind.seconds(float(second)) <= 2 * MARK_EVERY


def test_positions_a_little_out_of_order_are_all_waited_for() -> None:
    behind = Behind()
    behind.given(5, 1.0)
    behind.given(3, 1.1)
    behind.reached(3)
    assert behind.seconds(2.0) == 1.0


def test_marks_are_bounded() -> None:
    behind = Behind()
    for position in range(MOST_MARKS * 3):
        behind.given(position, 2.0 * position)
    assert len(behind._marks) == MOST_MARKS
    assert behind.seconds(2.0 * MOST_MARKS * 3) == 2.0 * MOST_MARKS * 3
    behind.reached(MOST_MARKS * 3)
    assert behind.seconds(0.0) == 0.0
