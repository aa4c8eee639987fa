"""Chinese rules for what somebody has and can: people, animals, things, health, skills."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import chinese_words as words
from memsidecar.domain.extraction.chinese_subject import Subject
from memsidecar.domain.extraction.chinese_values import Found, find_time, manner_of, value_in, written
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.values import han_items, han_trimmed


def is_allergic(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if span is None or re.match(r"这|那|什么|它|他|你|我|您", written(reading, span)):
        return
    negated = found.group("not") is not None or subject.was
    for part in han_items(reading.text, span):
        reading.add(
            "allergic_to",
            part,
            subject=subject.text,
            negated=negated,
            manner=manner_of(reading, subject, negated=negated),
        )


def suffers(reading: Reading, subject: Subject, found: Found) -> None:
    negated = found.groupdict().get("not") is not None or subject.was
    reading.add(
        "health",
        Span(*found.span("what")),
        subject=subject.text,
        negated=negated,
        manner=manner_of(reading, subject, negated=negated),
    )


def eats(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    negated = subject.was or found.groupdict().get("not") is not None
    reading.add(
        "diet",
        Span(*found.span("diet")),
        subject=subject.text,
        negated=negated,
        manner=manner_of(reading, subject, negated=negated),
    )


def has(reading: Reading, subject: Subject, found: Found) -> None:
    """有: people, animals and things that one has for long."""
    noun = found.group("noun")
    many = found.group("many") or ""
    negated = found.group("not") is not None
    manner = manner_of(reading, subject, negated=negated)
    name = Span(*found.span("name")) if found.group("name") else None
    several = bool(many) and not many.startswith(("一", "1"))
    whole = Span(found.start("many") if several else found.start("noun"), found.end("noun"))
    if noun in ("孩子", "小孩", "娃") and several:
        reading.add("children", Span(*found.span("many")), subject=subject.text, negated=negated, manner=manner)
    elif noun in words.RELATIONS and words.RELATIONS[noun] != "pet":
        if name is None and words.RELATIONS[noun] not in ("child", "sister", "brother"):
            return
        reading.add(
            words.RELATIONS[noun],
            name or whole,
            subject=subject.text,
            negated=negated,
            manner=manner,
            entity_type="person",
        )
    elif re.fullmatch(words.PETS, noun):
        reading.add("pet", name or whole, subject=subject.text, negated=negated, manner=manner)


def owns(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    span = value_in(reading, *found.span("what"))
    if span is None or subject.text or len(written(reading, span)) > 16:
        return
    negated = found.groupdict().get("not") is not None or found.groupdict().get("gone") is not None
    gone = found.groupdict().get("gone") is not None
    reading.add("owns", span, negated=negated, manner=Manner.CHANGED if gone else subject.manner, since=gone)


def speaks(reading: Reading, subject: Subject, found: Found) -> None:
    for part in re.finditer(words.LANGUAGES, found.group("what")):
        start = found.start("what")
        reading.add(
            "speaks",
            Span(start + part.start(), start + part.end()),
            subject=subject.text,
            negated=found.group("not") is not None,
            manner=subject.manner,
        )


def knows(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if span is not None and not subject.text:
        for part in han_items(reading.text, span):
            reading.add("knows", part, manner=subject.manner)


def learns(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if (
        span is not None
        and not subject.text
        and len(written(reading, span)) <= 10
        and written(reading, span) not in ("习", "校", "习中")
    ):
        reading.add("learning", span, manner=subject.manner)


def has_hobbies(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if span is not None and not subject.text:
        for part in han_items(reading.text, span):
            reading.add("hobby", part, polarity=0.8, manner=subject.manner)
