"""The TimeExpressions over the grammar."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memsidecar.adapters.time_expressions import (
    chinese,
    dates,
    english,
    english_festivals,
    english_years,
    european,
    festivals,
)
from memsidecar.adapters.time_expressions.folding import MAX_CHARS, fold, has_digits_of_a_date, has_han_time, words_of
from memsidecar.adapters.time_expressions.hit import Hit, Rule
from memsidecar.adapters.time_expressions.joining import joined
from memsidecar.adapters.time_expressions.spacing import Squeezed, squeeze
from memsidecar.domain.calendar_spans import end_micros, start_micros
from memsidecar.domain.time_span import TimeSpan

MAX_SPANS = 12
_LATIN: tuple[Rule, ...] = (
    *english.RULES,
    *english_years.RULES,
    *english_festivals.RULES,
    *european.RULES,
    *dates.NAMES,
)
_TRIGGERS = frozenset().union(*(rule.needs for rule in _LATIN))


class GrammarTimeExpressions:
    """Rules for English and Chinese, with the commonest words of six more languages.

    Reads the first 2,048 characters of a text. Thread-safe and without state.
    """

    def load(self) -> None:
        """Blocks for a tenth of a second while the festivals' calendar is loaded; without it the first question that
        names a lunar festival waits for that."""
        festivals.load()

    def find(self, text: str, reference: datetime) -> tuple[TimeSpan, ...]:
        """See the port. At most 12 spans."""
        squeezed = squeeze(fold(text))
        hits = _longest(list(_hits(squeezed.text, reference)))
        return tuple(_spans(squeezed, hits, reference))[:MAX_SPANS] if hits else ()

    def resolve(self, text: str, reference: datetime) -> TimeSpan | None:
        """See the port."""
        found = self.find(text, reference)
        return found[0] if found else None


def _hits(text: str, now: datetime) -> Iterator[Hit]:
    words = words_of(text)
    if not _TRIGGERS.isdisjoint(words):
        for rule in _LATIN:
            if not rule.needs or not rule.needs.isdisjoint(words):
                yield from rule.hits(text, now)
    if has_digits_of_a_date(text):
        for rule in (*english_years.YEAR_RULES, *dates.DIGITS):
            yield from rule.hits(text, now)
    if has_han_time(text):
        characters = set(text)
        for rule in chinese.RULES:
            if not rule.needs or not rule.needs.isdisjoint(characters):
                yield from rule.hits(text, now)


def _longest(hits: list[Hit]) -> list[Hit]:
    """Without overlaps, the longer first; those that are no time keep what is in them from being one."""
    hits.sort(key=lambda hit: (hit.start - hit.end, hit.start))
    taken = bytearray(MAX_CHARS)
    kept = []
    for hit in hits:
        if not any(taken[hit.start : hit.end]):
            taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
            kept.append(hit)
    kept.sort(key=lambda hit: hit.start)
    return [hit for hit in kept if hit.reading is not None]


def _spans(squeezed: Squeezed, hits: list[Hit], now: datetime) -> Iterator[TimeSpan]:
    zone = now.tzinfo
    assert zone is not None, "the reference is aware"
    for each in joined(squeezed.text, hits, now.date()):
        start, end = each.begin, each.finish
        if start is None and each.first is not None:
            start = start_micros(each.first, zone)
        if end is None and each.last is not None:
            end = end_micros(each.last, zone)
        yield TimeSpan(start, end, squeezed.place(each.start), squeezed.place(each.end - 1) + 1, each.vague, each.slack)
