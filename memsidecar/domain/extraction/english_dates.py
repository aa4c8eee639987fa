"""English rules for what is when, whose subject is a thing: dates, deadlines, best times."""

from __future__ import annotations

import re

from memsidecar.domain.attributes import qualifier_of
from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_clauses import CORRECTS, LEAD
from memsidecar.domain.extraction.english_mine import called, favourite, mine, reached
from memsidecar.domain.extraction.english_places import named_date
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import english_time
from memsidecar.domain.extraction.values import cut, trimmed

_OWNER = r"(?:my|our|the|this)\s+"

_TO_DATE = (
    r"(?:(?:has|have|had)\s(?:now\s)?(?:been\s)?|is\s(?:now\s)?|was\s|got\s|now\s|just\s)*(?:moved"
    r"|postponed|rescheduled|pushed|changed|delayed|extended|shifted|brought)(?:\s(?:up|back|forward"
    r"|out))?(?:\sagain)?\s(?:from\s[^,.]{2,30}?\s)?(?:to|until|till|for)\s+"
)

_IS_DATE = (
    r"(?:is|are|will\sbe|'s)\s(?P<now>now\s|still\s|currently\s)?(?:scheduled\s|set\s|planned\s"
    r"|booked\s|due\s|coming\sup\s)?(?:(?:on|at|for|by|in|until|to)\s)?"
)

_DEADLINE = re.compile(
    rf"(?:{_OWNER}|)(?P<before>(?:[a-z][\w'-]*\s){{0,3}}?)(?:deadline|due\sdate|submission\sdate"
    r"|launch\sdate|release\sdate)\s(?:(?:for"
    rf"|of)\s(?:{_OWNER})?(?P<of>[\w'-]+(?:\s[\w'-]+){{0,3}}?)\s)?"
    rf"(?:(?P<moved>{_TO_DATE})|{_IS_DATE})(?P<date>.{{1,60}})",
    re.IGNORECASE,
)

_DUE = re.compile(
    rf"{_OWNER}(?P<of>[\w'-]+(?:\s[\w'-]+){{0,3}}?)\s(?:is|are)\sdue\s(?P<now>now\s)?(?:on|by|at"
    r"|in)?\s*(?P<date>.{1,60})",
    re.IGNORECASE,
)

_DATE = re.compile(
    rf"{_OWNER}(?P<of>[\w'-]+(?:\s[\w'-]+){{0,4}}?)\s(?:(?P<moved>{_TO_DATE})|{_IS_DATE})(?P<date>.{{1,60}})",
    re.IGNORECASE,
)

_BEST = re.compile(
    r"(?:my|our)\s(?:new\s|current\s|latest\s|fastest\s)?(?P<of>(?:\d+\s?[km]\w*|half[ -]marathon"
    r"|marathon|mile|[\w-]+)(?:\s(?:run|swim|race))?)\s(?:time|personal\sbest|pb|pr|record"
    r"|best\stime)\s"
    r"(?:is|was|'s|improved\sto|dropped\sto|went\s(?:down|up)\sto|has\simproved\sto)\s(?P<now>now\s"
    r"|currently\s|down\sto\s)*(?P<value>\d{1,3}:\d\d(?::\d\d)?|\d+(?:\.\d+)?\s?(?:minutes|seconds"
    r"|hours|min|sec)(?:\s(?:and\s)?\d+\s?(?:minutes|seconds|sec))?)",
    re.IGNORECASE,
)

_GOAL = re.compile(
    r"(?:my|our)\s(?:main\s|biggest\s|new\s|long-term\s|ultimate\s|personal\s)?(?P<what>goal|dream"
    r"|ambition|resolution)\s(?:is|was|'s)\s(?:now\s)?to\s",
    re.IGNORECASE,
)

_APART = re.compile(r"\s(?:with|at|for|of|in|to|about)\s")


def dated(reading: Reading) -> bool:
    """What needs no "I": deadlines, dates, best times, favourites, "my X is Y". Whether a rule has read the clause."""
    text, at, end = reading.text, reading.start, reading.end
    manner = Manner.STATED
    if lead := LEAD.match(text, at, end):
        at = lead.end()
        manner = Manner.CORRECTED if CORRECTS.search(lead.group()) else manner
    return (
        _best(reading, at, end)
        or _deadline(reading, at, end, manner)
        or _goal(reading, at, end)
        or favourite(reading, at, end, manner)
        or mine(reading, at, end, manner)
        or _date(reading, at, end, manner)
        or called(reading, at, end, manner)
        or reached(reading, at, end, manner)
    )


def _best(reading: Reading, at: int, end: int) -> bool:
    found = _BEST.match(reading.text, at, end)
    if found is None:
        return False
    changed = found.group("now") is not None or "to" in found.group().lower().split()
    manner = Manner.CHANGED if changed else Manner.STATED
    reading.add(f"personal_best:{qualifier_of(found.group('of'))}", Span(*found.span("value")), manner=manner)
    return True


def _deadline(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    found = _DEADLINE.match(reading.text, at, end) or _DUE.match(reading.text, at, end)
    if found is None or (date := named_date(reading, found.start("date"), end)) is None:
        return False
    groups = found.groupdict()
    of = qualifier_of((groups.get("of") or groups.get("before") or "").strip())
    if groups.get("moved") or groups.get("now"):
        manner = Manner.CHANGED if manner is Manner.STATED else manner
    reading.add(
        f"deadline:{of}" if of and of not in ("new", "final", "current", "project's") else "deadline",
        date,
        manner=manner,
        timed=False,
    )
    return True


_DEADLINE_OF = re.compile(
    r"\b(?P<new>new\s|updated\s|revised\s)?(?P<before>(?:[\w-]{2,20}\s){0,2})deadline\s(?:of|being"
    r"|set\sfor|by)\s(?P<date>.{1,40})",
    re.IGNORECASE,
)

_DATED_DEADLINE = re.compile(r"\b(?:the|my|our|a)\s(?P<date>.{3,24}?)\sdeadline\b")

_FOR = re.compile(
    r"[,\s]*\bfor\s(?:the\s|my\s)?(?P<of>[\w-]+(?:\s(?!which\b|and\b|with\b|so\b|but\b|by\b)[\w-]+){0,2})"
)

_NO_OF = frozenset(
    "a an the my our new final with tight strict hard project current updated revised this meet that"
    " your and to".split()
)


def deadlines(reading: Reading, start: int, end: int) -> None:
    """A deadline that is named in passing: "with a deadline of April 1 for the first sprint"."""
    text = reading.text
    found = _DEADLINE_OF.search(text, start, end) or _DATED_DEADLINE.search(text, start, end)
    if found is None or any(claim.attribute.startswith("deadline") for claim in reading.claims):
        return
    reading.start, reading.end, reading.time = start, end, None
    date = named_date(reading, found.start("date"), found.end("date"))
    if date is None:
        return
    groups = found.groupdict()
    stop = date.end if "before" in groups else found.end()
    named = _FOR.match(text, stop, end)
    of = named.group("of") if named else groups.get("before") or ""
    of = " ".join(word for word in qualifier_of(of).split() if word not in _NO_OF)
    manner = Manner.CHANGED if groups.get("new") else Manner.STATED
    # The evidence is the clause around it.
    reading.start = max(start, text.rfind(",", start, found.start()) + 1)
    reading.end = named.end() if named is not None else stop
    reading.add(f"deadline:{of}" if of else "deadline", date, manner=manner, confidence=0.8, timed=False)


def _date(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    found = _DATE.match(reading.text, at, end)
    if found is None or (date := named_date(reading, found.start("date"), end)) is None:
        return False
    of = qualifier_of(found.group("of"))
    last = _APART.split(of)[0].split()[-1]
    if (not found.group("moved") and last not in words.EVENTS) or last in ("day", "date", "time", "night", "week"):
        return False
    if last in words.RELATIONS:
        return False
    if found.group("moved") or (found.group("now") or "").startswith("now"):
        manner = Manner.CHANGED if manner is Manner.STATED else manner
    reading.add(f"date:{of}", date, manner=manner, timed=False)
    return True


_POINTS = re.compile(r"\b(?:this|that|these|those|it|them|your|you)\b")


def _goal(reading: Reading, at: int, end: int) -> bool:
    found = _GOAL.match(reading.text, at, end)
    if found is None:
        return False
    reading.time = english_time(reading.text, found.end(), end)
    stop = cut(reading.text, found.end(), end)
    if reading.time is not None:
        stop = min(stop, reading.time.outer.start)
    span = trimmed(reading.text, found.end(), stop)
    if span is not None and not _POINTS.search(reading.text, span.start, span.end):
        reading.add("goal", span)
    return True
