"""English rules for where somebody lives and comes from; what values and places look like."""

from __future__ import annotations

import re
from collections.abc import Callable

from memsidecar.domain.claims import Manner, Span, TimeRole
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_clauses import Head
from memsidecar.domain.extraction.letters import BEGINS_NAME, BIG
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import english_time
from memsidecar.domain.extraction.values import cut, trimmed

Rule = Callable[[Reading, Head], None]

CAPITAL = BEGINS_NAME

# The sentence need not have been written in this year: a day of an open year says less.
_YEAR_AT_LEAST = re.compile(r"(?:19|20)\d\d|\b(?:last|ago)\b", re.IGNORECASE)

_TO = re.compile(r"\s+(?:(?:back|out|over|here|away|house|in)\s+)?(?:to|into)\s+")

_FROM_TO = re.compile(r"\s+(?:(?:back|out|over|here)\s+)?from\s+[^,.]{2,40}?\s+to\s+")

_IN = re.compile(
    r"\s+(?:(?:here|now|currently|alone|together|full-time|right)\s+)*(?:in|at|near|out\sof"
    r"|outside(?:\sof)?|close\sto)\s+"
)


def place(reading: Reading, start: int, head: Head) -> Span | None:
    """The place that is named from `start` on, or None when it does not look like one."""
    end = value_end(reading, start, head)
    span = trimmed(reading.text, start, end)
    if span is None:
        return None
    value = reading.text[span.start : span.end]
    first = value.split()[0].lower()
    if CAPITAL.search(value):
        # "in My opinion", "in THIS": a place begins with its name, or says what kind it is.
        return span if first not in words.NOT_PLACES else None
    if any(word in words.PLACE_NOUNS for word in re.findall(r"[a-z]+", value)):
        return span
    own = reading.text[head.start : head.end]
    lower_case = own == own.lower()
    return span if lower_case and first not in words.NOT_PLACES and len(value.split()) <= 2 else None


def residence(reading: Reading, where: Span) -> str:
    """The attribute of what somebody lives in: a town or a country, or the kind of house, which is no place."""
    written = reading.text[where.start : where.end]
    return "dwelling" if written.islower() and written.split()[-1] in words.DWELLINGS else "lives_in"


def value_end(reading: Reading, start: int, head: Head, *, commas: bool = True) -> int:
    """Where a value ends that begins at `start`: before the time that the clause names, at the latest."""
    end = cut(reading.text, start, head.end, commas=commas)
    if reading.time is not None and start < reading.time.outer.start < end:
        end = reading.time.outer.start
    return end


def value(reading: Reading, start: int, head: Head, *, commas: bool = True) -> Span | None:
    """The value that begins at `start`, trimmed."""
    return trimmed(reading.text, start, value_end(reading, start, head, commas=commas))


def find_time(reading: Reading, head: Head) -> None:
    reading.time = english_time(reading.text, head.start, head.end)


def lives(reading: Reading, head: Head) -> None:
    found = _IN.match(reading.text, head.after, head.end)
    if found is None or head.modal:
        return
    find_time(reading, head)
    if (where := place(reading, found.end(), head)) is None:
        return
    attribute = residence(reading, where)
    kind = "place" if attribute == "lives_in" else ""
    gone = (
        head.used
        or (head.past and head.verb not in ("based", "located", "living"))
        or (head.verb == "lived" and not {"'ve", "have", "has"} & set(head.words))
    )
    if gone and not head.negated and past_in(reading):
        # With the time in which it was so it is history, and denies nothing.
        reading.add(attribute, where, subject=head.subject, entity_type=kind)
        return
    negated = head.negated or gone
    manner = (
        Manner.CHANGED
        if negated and head.manner is not Manner.CORRECTED and (gone or no_more(reading, head))
        else head.manner
    )
    timed = not (gone and began(reading))
    reading.add(attribute, where, subject=head.subject, negated=negated, manner=manner, timed=timed, entity_type=kind)


def past_in(reading: Reading) -> bool:
    """Whether the clause names a time that is over, or one up to which something was so."""
    time = reading.time
    if time is None or time.role is TimeRole.FROM:
        return False
    words = reading.text[time.span.start : time.span.end]
    return time.role is TimeRole.UNTIL or _YEAR_AT_LEAST.search(words) is not None


def began(reading: Reading) -> bool:
    """Whether the time that the clause names is when something began ("from 2015 to 2018"): not when it ended."""
    return reading.time is not None and reading.time.role is TimeRole.FROM


def no_more(reading: Reading, head: Head) -> bool:
    return (
        head.manner is Manner.CHANGED or re.search(r"\bany\s?more\b", reading.text[head.start : head.end]) is not None
    )


def moved(reading: Reading, head: Head) -> None:
    if head.modal or head.negated or head.used or head.be not in ("", "been"):
        return
    found = _FROM_TO.match(reading.text, head.after, head.end) or _TO.match(reading.text, head.after, head.end)
    if found is None:
        return
    find_time(reading, head)
    where = place(reading, found.end(), head)
    if where is not None:
        attribute = residence(reading, where)
        kind = "place" if attribute == "lives_in" else ""
        reading.add(attribute, where, subject=head.subject, manner=Manner.CHANGED, since=True, entity_type=kind)


_FROM_OR_NOT = re.compile(r"\s+from\s+|\s+")


def comes_from(reading: Reading, head: Head) -> None:
    found = _FROM_OR_NOT.match(reading.text, head.after, head.end)
    if found is None or head.modal or head.negated or (head.verb == "come" and "from" not in found.group()):
        return
    if (where := place(reading, found.end(), head)) is not None:
        reading.add("from", where, subject=head.subject, manner=head.manner, entity_type="place")


_UP_IN = re.compile(r"\s+up\s+(?:in|on|near)\s+")


def grew(reading: Reading, head: Head) -> None:
    found = _UP_IN.match(reading.text, head.after, head.end)
    if (
        found is not None
        and not head.negated
        and not head.modal
        and (where := place(reading, found.end(), head)) is not None
    ):
        reading.add("from", where, subject=head.subject, manner=head.manner, entity_type="place")


_BORN_IN = re.compile(rf"\bin\s+(?=[{BIG}])")


_TO_PLACE = re.compile(rf"\s+(?=(?:the\s)?[{BIG}])")


def visited(reading: Reading, head: Head) -> None:
    """Of "visited Japan" and "have been to Japan"."""
    found = _TO_PLACE.match(reading.text, head.after, head.end)
    if found is None or head.modal or head.used or head.subject or (head.be and head.be != "been"):
        return
    find_time(reading, head)
    if (where := place(reading, found.end(), head)) is not None:
        reading.add("visited", where, negated=head.negated, manner=head.manner, entity_type="place")


def born(reading: Reading, head: Head) -> None:
    if head.negated:
        return
    find_time(reading, head)
    if reading.time is not None and re.search(r"\d", reading.original[reading.time.span.start : reading.time.span.end]):
        time, reading.time = reading.time.span, None
        reading.add("birthday", time, subject=head.subject, manner=head.manner)
    for found in _BORN_IN.finditer(reading.text, head.after, head.end):
        end = cut(reading.text, found.end(), head.end)
        where = trimmed(reading.text, found.end(), end)
        if where is not None and english_time(reading.text, found.start(), where.end) is None:
            reading.add("birthplace", where, subject=head.subject, manner=head.manner, entity_type="place")


def named_date(reading: Reading, start: int, end: int) -> Span | None:
    """The time that stands at the beginning of a part, or None."""
    time = english_time(reading.text, max(reading.start, start - 6), end)
    if time is None or time.span.start < start or time.span.start - start > 8:
        return None
    return time.span
