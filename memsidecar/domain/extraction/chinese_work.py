"""Chinese rules for work and studies."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import chinese_words as words
from memsidecar.domain.extraction.chinese_subject import Subject
from memsidecar.domain.extraction.chinese_values import Found, find_time, manner_of, value_in, written
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.values import han_trimmed


def is_trade(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("job"))
    if span is None or re.search(r"[你他她的]", written(reading, span)[:-1]):
        return
    negated = subject.was or found.groupdict().get("not") is not None
    manner = manner_of(reading, subject, negated=negated)
    if not negated or manner is not Manner.STATED:
        reading.add("job", span, subject=subject.text, negated=negated, manner=manner)


_NOT_EMPLOYER = re.compile(
    r"^(?:家里?|这[里儿]?|那[里儿]?|外面|一起|努力|认真|线上|网上|国外|外地|本地|办公室|.*(?:时间|时候"
    r"|之前|之后|压力|晚上))$"
)


def works(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    span = value_in(reading, *found.span("where"))
    if span is None or _NOT_EMPLOYER.match(written(reading, span)) or re.search(r"[你他她]", written(reading, span)):
        return
    negated = subject.was or found.group("not") is not None
    manner = manner_of(reading, subject, negated=negated)
    job = found.groupdict().get("job")
    place = re.fullmatch(rf"(?:{words.PLACES}|{words.COUNTRIES})市?(?:市区|城里)?", written(reading, span)) is not None
    if place:
        reading.add("works_in", span, subject=subject.text, negated=negated, manner=manner, entity_type="place")
    else:
        reading.add("employer", span, subject=subject.text, negated=negated, manner=manner, entity_type="organisation")
    if job and (what := han_trimmed(reading.text, *found.span("job"))) is not None:
        reading.add("job", what, subject=subject.text, negated=negated, manner=manner)


def leaves(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    span = value_in(reading, *found.span("where"))
    if span is not None and not _NOT_EMPLOYER.match(written(reading, span)):
        reading.add(
            "employer",
            span,
            subject=subject.text,
            negated=True,
            manner=Manner.CHANGED,
            since=True,
            entity_type="organisation",
        )


def joins(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    span = value_in(reading, found.end(), subject.end)
    if span is not None and len(written(reading, span)) <= 16:
        reading.add(
            "employer", span, subject=subject.text, manner=Manner.CHANGED, since=True, entity_type="organisation"
        )


def is_promoted(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    span = value_in(reading, found.end(), subject.end)
    if span is not None and len(written(reading, span)) <= 12:
        reading.add("job", span, subject=subject.text, manner=Manner.CHANGED, since=True)


def retires(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    reading.add("job", Span(*found.span("job")), subject=subject.text, manner=Manner.CHANGED, since=True)


def studies(reading: Reading, subject: Subject, found: Found) -> None:
    where = han_trimmed(reading.text, *found.span("school"))
    if where is None or not re.search(
        r"大学|学院|中学|小学|高中|初中|[^同]学校|[一-龥]大$|清华|复旦|哈佛|斯坦福|麻省理工|剑桥|牛津|附中|[A-Z]{2,}",
        written(reading, where),
    ):
        return
    negated = subject.was
    manner = manner_of(reading, subject, negated=negated)
    reading.add("school", where, subject=subject.text, negated=negated, manner=manner, entity_type="organisation")
    what = han_trimmed(reading.text, *found.span("what")) if found.group("what") else None
    if what is not None and written(reading, what) not in ("书", "研", "博", "硕士", "本科", "博士", "大学"):
        reading.add("studies", what, subject=subject.text, negated=negated, manner=manner)


def majors(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if span is not None and len(written(reading, span)) <= 14:
        reading.add(
            "studies",
            span,
            subject=subject.text,
            negated=subject.was,
            manner=manner_of(reading, subject, negated=subject.was),
        )


def graduates(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    span = value_in(reading, *found.span("school"))
    if span is not None and not re.match(r"\d", written(reading, span)):
        reading.add("education", span, subject=subject.text, manner=subject.manner, entity_type="organisation")
