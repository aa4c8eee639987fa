from __future__ import annotations

import threading
from uuid import UUID

from memsidecar.adapters.system_runtime import SystemClock, TimeOrderedIds


class SteppingClock:
    """Says what it is told to."""

    def __init__(self, now: int) -> None:
        self.time = now

    def now(self) -> int:
        return self.time

    def monotonic(self) -> float:
        return self.time / 1e6


NOW = 1_800_000_000_000_000


def test_an_id_is_a_lower_case_uuid_of_version_7() -> None:
    made = TimeOrderedIds(SystemClock()).new()
    assert made == made.lower() == str(UUID(made))
    assert UUID(made).version == 7
    assert UUID(made).variant == "specified in RFC 4122"


def test_an_id_carries_the_millisecond_of_the_clock() -> None:
    assert UUID(TimeOrderedIds(SteppingClock(NOW)).new()).int >> 80 == NOW // 1000


def test_ids_sort_in_the_order_they_were_made_within_one_millisecond() -> None:
    ids = TimeOrderedIds(SteppingClock(NOW))
    made = [ids.new() for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_keep_sorting_when_the_clock_steps_back_and_forth() -> None:
    clock = SteppingClock(NOW)
    ids = TimeOrderedIds(clock)
    made = []
    for step in (0, -3_600_000_000, 5_000, -1, 10_000_000, -NOW, 2_000):
        clock.time = NOW + step
        made += [ids.new() for _ in range(500)]
    assert made == sorted(made)


def test_a_clock_before_1970_or_far_in_the_future_still_gives_valid_ids() -> None:
    for now in (-5, 1 << 70):
        assert UUID(TimeOrderedIds(SteppingClock(now)).new()).version == 7


def test_threads_never_get_the_same_id() -> None:
    ids = TimeOrderedIds(SteppingClock(NOW))
    made: list[list[str]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda out=out: out.extend(ids.new() for _ in range(2_000))) for out in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each for out in made for each in out}) == 8_000
    assert all(out == sorted(out) for out in made)


def test_the_system_clock_counts_microseconds_since_1970() -> None:
    clock = SystemClock()
    assert 1_700_000_000_000_000 < clock.now() < 5_000_000_000_000_000
    assert clock.monotonic() <= clock.monotonic()
