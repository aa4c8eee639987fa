"""English rules for languages and skills, and for whom somebody is with."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_clauses import Head
from memsidecar.domain.extraction.english_places import find_time, value
from memsidecar.domain.extraction.letters import BIG
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.values import items


def speaks_fluently(reading: Reading, head: Head) -> None:
    """Of "fluent in"."""
    if reading.text.startswith(" in ", head.after) and not head.modal:
        head.after += len(" in")
        speaks(reading, head)


def dates_somebody(reading: Reading, head: Head) -> None:
    """Of "dating"."""
    found = _DATING.match(reading.text, head.after, head.end)
    if found is not None and not head.negated and not head.modal and not head.subject:
        reading.add("partner", Span(*found.span("name")), manner=head.manner, entity_type="person")


_DATING = re.compile(
    r"\s+(?:an?\s[a-z ]{2,20}\s(?:named|called)\s|someone\s(?:named"
    rf"|called)\s)?(?P<name>[{BIG}][\w'-]+)(?=\s*$|\s*[,.!]|\s(?:for|since|now|and)\b)"
)

_WITH_SOMEBODY = re.compile(
    r"\s+up\swith\s(?:my\s(?:boyfriend|girlfriend|partner"
    rf"|fianc[eé]e?),?\s)?(?P<name>[{BIG}][\w'-]+)(?=\s*$|\s*[,.!]|\s(?:last|in|yesterday|recently"
    r"|after|and)\b)"
)


def broke(reading: Reading, head: Head) -> None:
    """Of "broke up with"."""
    found = _WITH_SOMEBODY.match(reading.text, head.after, head.end)
    if found is not None and not head.modal and not head.negated and not head.subject:
        find_time(reading, head)
        reading.add(
            "partner", Span(*found.span("name")), negated=True, manner=Manner.CHANGED, since=True, entity_type="person"
        )


def speaks(reading: Reading, head: Head) -> None:
    if head.modal:
        return
    span = value(reading, head.after, head, commas=False)
    if span is None:
        return
    for part in items(reading.text, span, loose=True):
        written = re.sub(
            r"^(?:a\s(?:little|bit\sof)|some|little|bit\sof|fluent|basic|conversational|broken|fluently)\s",
            "",
            reading.text[part.start : part.end],
        )
        name = written.split()[0].strip(",.") if written.split() else ""
        if name.lower() in words.LANGUAGES:
            reading.add("speaks", name, subject=head.subject, negated=head.negated, manner=head.manner)


def knows(reading: Reading, head: Head) -> None:
    if head.modal or head.negated or head.subject or (span := value(reading, head.after, head, commas=False)) is None:
        return
    for part in items(reading.text, span):
        written = reading.text[part.start : part.end]
        if written.lower() in words.PROGRAMMING:
            reading.add("knows", part, manner=head.manner)


_HOW_TO = re.compile(r"\s+(?:how\s)?(?:to\s)?(?=\w)")


def learns(reading: Reading, head: Head) -> None:
    found = _HOW_TO.match(reading.text, head.after, head.end)
    if (
        found is None
        or head.modal
        or head.negated
        or head.subject
        or (what := value(reading, found.end(), head)) is None
    ):
        return
    written = reading.text[what.start : what.end]
    if written.lower() in words.LANGUAGES | words.PROGRAMMING or re.match(
        r"(?:to\s)?(?:play|cook|swim|drive|dance|knit|sew|code|paint|draw|ski|surf|bake|sail)\b", written
    ):
        reading.add("learning", what, manner=head.manner)
