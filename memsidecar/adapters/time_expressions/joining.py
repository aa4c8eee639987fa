"""From single times to what the words around make of them: from A to B, since A, before A."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from memsidecar.adapters.time_expressions.anchored import anchored
from memsidecar.adapters.time_expressions.hit import Cycle, Hit, Reading
from memsidecar.domain.calendar_spans import DAY_MICROS, Days, shift_months, week

_TO = re.compile(r"\s*(?:to|until|till|through|thru|up to|-|–|~|至|到|直到|一直到|a|hasta|bis|jusqu'a)\s*(?:the )?")
_AND = re.compile(r"\s*(?:and|和|与|跟|y|et|e|und)\s*(?:the )?")
_LEAD = 24
_BETWEEN = re.compile(r"\b(?:between|entre|tra|zwischen)(?: the)? $")
_FROM = re.compile(r"(?:\bfrom(?: the)? |从|自从?|\bvon |\bde )$")
_SINCE = re.compile(r"(?:\b(?:ever )?since(?: the)? |自从?)$")
_AFTER = re.compile(r"\bafter(?: the)? $")
_BEFORE = re.compile(r"\b(?:before|prior to|earlier than)(?: the)? $")
_WEEK_OF = re.compile(r"\bweek of(?: the)? $")
_UNTIL = re.compile(r"(?:\b(?:until|till|up to)(?: the)? |截至|直到)$")
_HAN_SINCE = re.compile(r"的?(?:以来|至今|到现在|到今天)|开始(?![了的])")
# 春节前台 is the front desk and 春节后来 "later", but 春节前面试 is before it.
_HAN_AFTER = re.compile(r"之后|以后|过后|后(?![天年台端来悔期勤续半]|面(?!试|谈|签))")
_HAN_BEFORE = re.compile(r"之前|以前|前(?![天年后台端期半]|面(?!试|谈|签))")
_HAN_BETWEEN = re.compile(r"\s*(?:之间|期间|间)")


@dataclass(frozen=True, slots=True)
class Named:
    """Days that words name; None is an open side. `start` and `end` are the words' place. `begin` and `finish` are a
    side that is said more exactly, and like `slack` in microseconds."""

    first: date | None
    last: date | None
    start: int
    end: int
    vague: bool
    slack: int = 0
    begin: int | None = None
    finish: int | None = None


def joined(text: str, hits: list[Hit], today: date) -> Iterator[Named]:
    done = 0
    for at, hit in enumerate(hits):
        if hit.start < done:
            continue
        following = hits[at + 1] if at + 1 < len(hits) else None
        try:
            if following is not None and _belongs_to(text, hit, following):
                continue
            found = _range(text, hit, following) if following is not None else None
            named = found or _single(text, _with_anchored(text, hit), today)
        except (ValueError, OverflowError):
            continue  # a day before the calendar's first, or after its last
        # What an anchor's words took may have begun before what came last.
        if named.start >= done:
            done = named.end
            yield named


def _belongs_to(text: str, hit: Hit, following: Hit) -> bool:
    """Whether the hit is a part of what counts from the following: "last weekend before 10 April"."""
    found = anchored(text, following)
    return found is not None and found.start <= hit.start


def _with_anchored(text: str, hit: Hit) -> Hit:
    found = anchored(text, hit)
    return hit if found is None else Hit(found.start, found.end, found.reading, hit.again)


def _lead(text: str, at: int) -> str:
    return text[max(0, at - _LEAD) : at]


def _range(text: str, left: Hit, right: Hit) -> Named | None:
    between, lead = text[left.end : right.start], _lead(text, left.start)
    if _AND.fullmatch(between):
        if not _BETWEEN.search(lead) and not _HAN_BETWEEN.match(text, right.end):
            return None
    elif not _TO.fullmatch(between):
        return None
    assert left.reading is not None
    assert right.reading is not None
    vague, ends = left.reading.vague or right.reading.vague, _following(left.reading, right)
    begin, end = _in_order(left.reading, ends)
    if begin.first > end.last:
        return None
    first = None if left.reading.exact is None else left.reading.exact.start
    last = None if ends.exact is None else ends.exact.end
    return Named(begin.first, end.last, left.start, right.end, vague, begin=first, finish=last)


def _following(left: Reading, right: Hit) -> Reading:
    """Of "last May to July" the July is the one after that May, not the last one."""
    reading, days = right.reading, left.days
    assert reading is not None
    if left.cycle is not Cycle.NONE or (left.vague and reading.cycle is Cycle.WEEK):
        return reading
    if reading.cycle is Cycle.NONE or (days.last - days.first).days >= reading.cycle // 2:
        return reading
    turn = shift_months(days.first, 12) - timedelta(1) if reading.cycle is Cycle.YEAR else days.first + timedelta(7)
    return right.again(datetime.combine(turn, time(), UTC)) or reading


def _in_order(left: Reading, right: Reading) -> tuple[Days, Days]:
    """Of "Monday to Wednesday" the Monday is the one before that Wednesday."""
    begin, end = left.days, right.days
    if begin.first <= end.last or left.cycle is Cycle.NONE:
        return begin, end
    if left.cycle is Cycle.WEEK:
        return Days(begin.first - timedelta(7), begin.last - timedelta(7)), end
    return Days(shift_months(begin.first, -12), shift_months(begin.last, -12)), end


def _single(text: str, hit: Hit, today: date) -> Named:
    reading = hit.reading
    assert reading is not None
    first: date | None = reading.days.first
    last: date | None = reading.days.last
    begin, finish, slack = None, None, reading.slack * DAY_MICROS
    if reading.exact is not None:
        begin, finish, slack = reading.exact.start, reading.exact.end, reading.exact.slack
    lead = _lead(text, hit.start) + _own_lead(text, hit)
    if _SINCE.search(lead) or _HAN_SINCE.match(text, hit.end):
        last, finish = _until(reading.days.first, today), None
    elif _AFTER.search(lead) or _HAN_AFTER.match(text, hit.end):
        first, last = _next(reading.days.last), _until(reading.days.last, today)
        begin, finish = finish, None
    elif _BEFORE.search(lead) or _HAN_BEFORE.match(text, hit.end):
        first, last = None, reading.days.first - timedelta(1)
        begin, finish = None, begin
    elif _UNTIL.search(lead):
        first, begin = None, None
    elif first == last and begin is None and _WEEK_OF.search(lead):
        around = week(reading.days.first)
        first, last = around.first, around.last
    return Named(first, last, hit.start, hit.end, reading.vague, slack, begin, finish)


def _own_lead(text: str, hit: Hit) -> str:
    """Rules that need a word such as "since" before a year begin with it."""
    word, _, _ = text[hit.start : hit.end].partition(" ")
    return word + " " if word in ("since", "after", "before", "until", "till") else ""


def _until(begin: date, today: date) -> date | None:
    return today if begin <= today else None


def _next(day: date) -> date:
    return day + timedelta(1) if day < date.max else day
