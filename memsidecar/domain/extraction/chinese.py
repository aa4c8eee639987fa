"""The Chinese rules, in the order in which they are asked."""

from __future__ import annotations

from dataclasses import replace

from memsidecar.domain.claims import Manner
from memsidecar.domain.extraction.chinese_changes import ended, resumed
from memsidecar.domain.extraction.chinese_dates import dated, happened
from memsidecar.domain.extraction.chinese_facts import FACTS
from memsidecar.domain.extraction.chinese_likes import LIKES, answer_style
from memsidecar.domain.extraction.chinese_names import asks_to_be_called
from memsidecar.domain.extraction.chinese_subject import (
    Subject,
    asks,
    clauses,
    corrects,
    introduces_relation,
    subject_of,
)
from memsidecar.domain.extraction.reading import Reading


def read_chinese(reading: Reading, start: int, end: int, *, asked: bool) -> None:
    """Adds what a sentence states; of a question (`asked`), what it states before it asks."""
    text = reading.text
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
    if dated(reading) or asks_to_be_called(reading):
        return before
    subject = subject_of(reading.text, reading.start, reading.end, before)
    if subject is not None and subject.whose is not None:
        # As written: what is read is in simplified characters.
        subject = replace(subject, text=reading.original[subject.whose.start : subject.whose.end])
    if subject is not None and not subject.own:
        reading.start = subject.start
    if subject is None or introduces_relation(reading, subject):
        return subject
    known = len(reading.claims)
    for pattern, rule in FACTS:
        if found := pattern.match(reading.text, subject.at, subject.end):
            rule(reading, subject, found)
            if len(reading.claims) > known:
                return subject
    ended(reading, subject)
    if not subject.relation and not resumed(reading, subject):
        for pattern, rule in LIKES:
            if found := pattern.match(reading.text, subject.at, subject.end):
                rule(reading, subject, found)
                return subject
    if len(reading.claims) > known:
        return subject
    happened(reading, subject)
    return subject


def _correct(reading: Reading, first: int) -> None:
    for i in range(first, len(reading.claims)):
        if reading.claims[i].manner is Manner.STATED:
            reading.claims[i] = replace(reading.claims[i], manner=Manner.CORRECTED)
