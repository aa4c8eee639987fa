"""From when until when a claim is true that names its time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memsidecar.adapters.time_expressions import GrammarTimeExpressions
from memsidecar.domain.claims import TimeRole
from memsidecar.services.named_times import NamedTimes

# A Wednesday.
SAID = datetime(2026, 3, 4, 12, tzinfo=UTC)
AT, FROM, UNTIL = TimeRole.AT, TimeRole.FROM, TimeRole.UNTIL


@pytest.fixture(scope="module")
def times() -> NamedTimes:
    return NamedTimes(GrammarTimeExpressions())


def micros(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("words", "role", "around", "begin", "end"),
    [
        ("in 2019", AT, "I visited Rome in 2019", "2019-01-01", "2020-01-01"),
        ("since 2019", FROM, "I have lived here since 2019", "2019-01-01", ""),
        ("until 2019", UNTIL, "I lived there until 2019", "", "2020-01-01"),
        ("2019", AT, "I visited Rome in 2019", "2019-01-01", "2020-01-01"),
        ("2019", FROM, "I have lived here since 2019", "2019-01-01", ""),
        ("2019", UNTIL, "I lived there until 2019", "", "2020-01-01"),
        ("yesterday", FROM, "I moved yesterday", "2026-03-03", ""),
        ("on Friday", AT, "I'm flying to Rome on Friday", "2026-03-06", "2026-03-07"),
        ("on Friday", AT, "I flew to Rome on Friday", "2026-02-27", "2026-02-28"),
        ("in May", FROM, "I'm moving to Oslo in May", "2026-05-01", ""),
        ("in January", FROM, "I moved to Oslo in January", "2026-01-01", ""),
        ("last month", FROM, "I moved last month", "2026-02-01", ""),
        ("去年", FROM, "我去年搬到了上海", "2025-01-01", ""),
    ],
)
def test_the_time_of_a_claim(times: NamedTimes, words: str, role: TimeRole, around: str, begin: str, end: str) -> None:
    found = times.interval(words, role, around, int(SAID.timestamp()) * 1_000_000)
    assert found == (micros(begin) if begin else None, micros(end) if end else None)


def test_words_without_a_time_are_true_from_when_they_are_said(times: NamedTimes) -> None:
    assert times.interval("these days", AT, "I run these days", 5) == (5, None)


@pytest.mark.parametrize("said", [-(10**18), 10**18, 0])
def test_no_time_is_too_far_away(times: NamedTimes, said: int) -> None:
    times.interval("on Friday", AT, "I'm flying on Friday", said)
