"""English rules for plans, goals, events and what is done regularly."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_changes import DAILY
from memsidecar.domain.extraction.english_clauses import Head
from memsidecar.domain.extraction.english_places import find_time, value
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import english_time
from memsidecar.domain.extraction.values import cut, trimmed

_TO_DO = re.compile(r"\s+(?:to\s+(?!(?:an?|the|my|our|this|see\swhat)\s)|on\s+(?=[a-z]+ing\b))(?=[a-z])")

# What is left when a time was only a part of a name: "enrolled in a November 10 course".
_HALF = re.compile(r"\b(?:an?|the|my|our)\s*$", re.IGNORECASE)

_POINTS = re.compile(r"\b(?:this|that|these|those|it|them|your|you|here|ones)\b", re.IGNORECASE)

# Where an event goes on with something else.
_CUT_EVENT = re.compile(
    r"[;:()—]|,(?!\d{3})|\s-\s|\s(?:because|since|but|so|which|who|when|while|although|though|as\s(?:I"
    r"|we|it)|and\s(?:I|we|it|my|now|am|was|will|have))\b"
)

_LOOSE_END = re.compile(r"(?:\s+(?:about|around|back|on|in|at|for|over|just|only|of))+\s*$")

_UNDERTAKING = re.compile(rf"(?:{words.UNDERTAKINGS})\b")

_NOT_PLANNED = re.compile(
    r"(?:use|add|make|be|ask|do|need|say|try|start\s(?:by|with)|see|check|keep|focus|have\sto|give"
    r"|tell|show|let|think|go\swith|implement|include|take\syour|miss|get\sback|stick|put|look|follow"
    r"|talk"
    r"|apply\s(?:these|this|the|your)|incorporate|explore|discuss|cover|consider|test|review|create|update|handle)\b"
)

_REGULARLY = re.compile(
    r"\b(?P<when>every\s(?:single\s)?(?:other\s)?(?:day|morning|evening|night|week|weekend|month|year"
    r"|summer|winter|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?|(?:once|twice|three\stimes"
    r"|four\stimes|five\stimes|\d\stimes)\s(?:a|per)\s(?:day|week|month|year)"
    r"|on\s(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days|weekends|weekdays)|each\s(?:day|morning|week|evening))(?!\w)"
)

_APPOINTMENT = re.compile(
    r"\s+(?:an?|my|another|the)\s+(?P<what>(?:[A-Za-z'-]+\s){0,3}?(?P<noun>[a-z-]+))\s+(?:(?:scheduled"
    r"|coming\sup|booked|set|due)\s)?(?:(?:for|on|at|in|this|next)\s+)?(?:the\s)?$"
)


def plans(reading: Reading, head: Head) -> None:
    """Of "planning to", "going to", "intend to", "decided to", "want to", "hope to"."""
    text = reading.text
    will = head.be == "be" and ("'ll" in head.words or "will" in head.words)
    if head.relation or head.negated or head.used or head.past or (head.modal and not will):
        return
    found = _TO_DO.match(text, head.after, head.end)
    if found is None:
        if head.verb in _TRAVELS and head.be:
            _travels(reading, head)
        return
    find_time(reading, head)
    if reading.time is not None and reading.time.span.start < head.verb_at and head.verb == "going":
        return
    start = found.end()
    certain = _UNDERTAKING.match(text, start, head.end) is not None
    goal = head.verb in ("want", "hope", "hoping", "dream", "aim", "aiming")
    if head.verb == "going" and found.group().strip() != "to":
        return
    if (goal and (not certain or head.modal)) or (not certain and _NOT_PLANNED.match(text, start, head.end)):
        return
    if head.verb == "going" and not certain and reading.time is None:
        return
    span = value(reading, start, head)
    if (
        span is not None
        and len(text[span.start : span.end].split()) > 1
        and not _POINTS.search(text, span.start, span.end)
    ):
        reading.add(
            "goal" if goal else "plan", span, manner=head.manner if head.manner is Manner.CORRECTED else Manner.STATED
        )


def _travels(reading: Reading, head: Head) -> None:
    """ "am going to Japan next month", "am getting married in May"."""
    text = reading.text
    find_time(reading, head)
    if reading.time is None or reading.time.span.start < head.verb_at:
        return
    if head.verb not in _GOES and not re.match(r"next|tomorrow", text[reading.time.span.start :][:8], re.IGNORECASE):
        return
    if head.verb in _GOES and not re.match(
        r"\s+(?:(?:back|over)\s)?(?:to\s+(?:the\s)?[A-Z]|to\s(?:an?|the|my|our)\s[a-z]|married"
        r"|on\s(?:a\s)?(?:vacation|holiday|trip"
        r"|cruise|hike))|\s+[A-Z]",
        text[head.after : head.end],
    ):
        return
    span = trimmed(text, head.verb_at, min(reading.time.outer.start, cut(text, head.verb_at, head.end)))
    if span is not None and len(text[span.start : span.end].split()) > 1:
        reading.add("plan", span)


def happened(reading: Reading, head: Head) -> bool:
    """What was done in a named time ("ran a marathon last Sunday"); whether it was read."""
    text = reading.text
    done = head.verb in words.PAST or (head.verb.endswith("ed") and len(head.verb) > 4)
    if not done or head.relation or head.negated or head.modal or head.used or head.be:
        return False
    if head.verb in (
        "wanted",
        "needed",
        "tried",
        "liked",
        "loved",
        "noticed",
        "asked",
        "wondered",
        "mentioned",
        "used",
        "realized",
        "realised",
        "said",
        "felt",
        "heard",
        "thought",
    ):
        return False
    find_time(reading, head)
    time = reading.time
    if time is not None and reading.text.endswith("the ", 0, time.span.start) and time.outer.start > head.verb_at:
        # "from the Sunday paper"
        first = reading.text[time.span.start : time.span.start + 1]
        time = None if first.isupper() else time
    if time is None or re.match(r"(?:next|tomorrow|today)", text[time.span.start : time.span.end], re.IGNORECASE):
        return False
    end = time.outer.start if time.span.start > head.verb_at else head.end
    ends = _CUT_EVENT.search(text, head.verb_at, end)
    end = ends.start() if ends is not None else end
    if loose := _LOOSE_END.search(text, head.verb_at, end):
        end = loose.start()
    span = trimmed(text, head.verb_at, end)
    if (
        span is None
        or len(text[span.start : span.end].split()) < 2
        or _HALF.search(text, span.start, span.end)
        or _POINTS.search(text, span.start, span.end)
    ):
        return False
    reading.add("event", span)
    return True


def appointment(reading: Reading, head: Head) -> bool:
    """ "have a dentist appointment on Friday"; whether it was read."""
    if head.relation or head.negated or head.modal or head.past:
        return False
    time = english_time(reading.text, head.after, head.end)
    if time is None or time.span.start - head.after > 80:
        return False
    found = _APPOINTMENT.match(reading.text[head.after : time.outer.start] + " ")
    if found is None or found.group("noun") not in words.EVENTS:
        return False
    reading.time = time
    start = head.after + found.start("what")
    reading.add("event", Span(start, start + len(found.group("what"))))
    return True


def regularly(reading: Reading, head: Head) -> bool:
    """What is done every so often; whether it was read."""
    text = reading.text
    if head.verb not in DAILY or head.be or head.negated or head.modal or head.used or head.relation:
        return False
    found = _REGULARLY.search(text, head.after, head.end)
    if found is None:
        return False
    span = trimmed(text, head.verb_at, found.end())
    if span is None:
        return False
    reading.time = None
    reading.add("routine", span, manner=head.manner)
    return True


_GOES = ("going", "flying", "traveling", "travelling", "getting", "moving")

_TRAVELS = (
    *_GOES,
    "visiting",
    "taking",
    "attending",
    "hosting",
    "joining",
    "throwing",
    "having",
    "seeing",
    "running",
    "competing",
    "performing",
    "presenting",
    "graduating",
)

PLANS = (
    *_TRAVELS,
    "planning",
    "plan",
    "going",
    "intend",
    "intending",
    "decided",
    "want",
    "hope",
    "hoping",
    "flying",
    "traveling",
    "travelling",
    "visiting",
    "getting",
    "aim",
    "aiming",
    "moving",
    "starting",
)
