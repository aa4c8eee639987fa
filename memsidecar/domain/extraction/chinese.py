"""The Chinese rules, in the order in which they are asked."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner
from memsidecar.domain.extraction.chinese_dates import dated, happened
from memsidecar.domain.extraction.chinese_facts import FACTS
from memsidecar.domain.extraction.chinese_likes import LIKES, answer_style
from memsidecar.domain.extraction.chinese_subject import Subject, asks, clauses, corrects, introduces_relation, subject_of
from memsidecar.domain.extraction.reading import Reading

# A sentence without one of these says nothing that a rule reads.
_WORTH = re.compile(r"[我咱俺]|截止|改到|推迟|提前到|改成|定在|以后|从现在起|今后|ddl|本人")


def read_chinese(reading: Reading, start: int, end: int, *, asked: bool) -> None:
    """Adds what a sentence states; of a question (`asked`), what it states before it asks."""
    text = reading.text
    if not _WORTH.search(text, start, end):
        return
    reading.start, reading.end, reading.time = start, end, None
    if not asked and answer_style(reading):
        return
    before: Subject | None = None
    corrected = False
    for clause_start, clause_end in clauses(text, start, end, asked=asked):
        if asks(text, clause_start, clause_end):
            before = None
            continue
        reading.start, reading.end, reading.time = clause_start, clause_end, None
        first = len(reading.claims)
        before = _read(reading, before)
        if corrected:
            _correct(reading, first)
        corrected = corrected or corrects(text, clause_start, clause_end)


def _read(reading: Reading, before: Subject | None) -> Subject | None:
    if dated(reading):
        return before
    subject = subject_of(reading.text, reading.start, reading.end, before)
    if subject is None or introduces_relation(reading, subject):
        return subject
    known = len(reading.claims)
    for pattern, rule in FACTS:
        if found := pattern.match(reading.text, subject.at, subject.end):
            rule(reading, subject, found)
            if len(reading.claims) > known:
                return subject
    if not subject.relation:
        for pattern, rule in LIKES:
            if found := pattern.match(reading.text, subject.at, subject.end):
                rule(reading, subject, found)
                return subject
    happened(reading, subject)
    return subject


def _correct(reading: Reading, first: int) -> None:
    from dataclasses import replace

    for i in range(first, len(reading.claims)):
        if reading.claims[i].manner is Manner.STATED:
            reading.claims[i] = replace(reading.claims[i], manner=Manner.CORRECTED)
