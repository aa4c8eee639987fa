"""What a rule of the grammar gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from datetime import date, datetime
from enum import IntEnum
from functools import partial
from itertools import islice
from re import Match, Pattern

from memsidecar.domain.calendar_spans import Days

# A text names a few times; one that names the same a thousand times is not read to its end.
MAX_HITS = 12


class Cycle(IntEnum):
    """What the words left open, and how far, in days, the same words are from coming round again."""

    NONE = 0
    WEEK = 7
    YEAR = 365


@dataclass(frozen=True, slots=True)
class Exact:
    """`start` <= t < `end`, and `slack`, in microseconds since 1970 UTC."""

    start: int
    end: int
    slack: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """`slack` in days. `cycle` for words as "Monday" or "3 March". `exact` where hours are said: the part of `days`
    that is meant."""

    days: Days
    vague: bool = False
    slack: int = 0
    cycle: Cycle = Cycle.NONE
    exact: Exact | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """Words and what they mean; with no reading they are no time ("31 February", 十亿年前), and no part of them is.

    `again` reads the words as seen from another time.
    """

    start: int
    end: int
    reading: Reading | None
    again: Callable[[datetime], Reading | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """`read` gets a match, returns None where it is not what it looked like, and may raise ValueError or OverflowError
    for days that no calendar has. `needs`: one of these words, of Chinese characters, must be in the text; empty is no
    condition."""

    pattern: Pattern[str]
    read: Callable[[Match[str], datetime], Reading | None]
    needs: Set[str] = frozenset()

    def hits(self, text: str, now: datetime) -> Iterator[Hit]:
        for match in islice(self.pattern.finditer(text), MAX_HITS):
            try:
                reading = self.read(match, now)
            except (ValueError, OverflowError):
                yield Hit(match.start(), match.end(), None, partial(self.read, match))
            else:
                if reading is not None:
                    yield Hit(match.start(), match.end(), reading, partial(self.read, match))


def latest(year_reading: Callable[[int], Days], today: date) -> Days:
    """What comes once a year: the one that began last."""
    this = year_reading(today.year)
    return this if this.first <= today else year_reading(today.year - 1)
