"""The text of a memory as the indexes see it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from memsidecar.domain.memory import Body, Entity, Episode, Fact, Preference, Procedure
from memsidecar.domain.traits import ROLES

# Not strftime's: its names follow the process's locale, and an index must not.
MONTHS = tuple("January February March April May June July August September October November December".split())
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# datetime's own range; outside of it a time is kept exactly but has no date to search by.
_FIRST = -62_135_596_800_000_000
_LAST = 253_402_300_799_999_999
_DAY = 24 * 3600 * 1_000_000


def date_words(time: int) -> str:
    """ "8 May 2023", or "" for a time that no calendar date exists for. Day first, no zero: one token each."""
    return _date_words(time // _DAY) if _FIRST <= time <= _LAST else ""


@lru_cache(maxsize=4096)
def _date_words(days: int) -> str:
    day = _EPOCH + timedelta(days=days)
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def indexed_text(body: Body) -> str:
    """Date, speaker and text of an episode; title, topic and text of the rest. A role is no name: a question with the
    word "user" does not ask for all that the user said."""
    match body:
        case Episode(speaker=speaker, title=title, text=text, start_time=start):
            name = "" if speaker.casefold() in ROLES else speaker
            parts: tuple[str, ...] = (date_words(start) if start is not None else "", name, title, text)
        case Preference(topic=topic, value=value, statement=text):
            parts = (topic, value, text)
        case Procedure(title=title, statement=text, steps=steps):
            parts = (title, text, *steps)
        case Entity(display_name=name, aliases=aliases, summary=summary):
            parts = (name, *aliases, summary)
        case Fact(statement=text):
            parts = (text,)
    return " ".join(part for part in parts if part)


def embedded_text(body: Body) -> str:
    """The text that a memory's vectors stand for: without date and speaker, which a vector blurs."""
    match body:
        case Episode(title=title, text=text):
            return f"{title}. {text}" if title else text
        case Entity(display_name=name, summary=summary):
            return f"{name}: {summary}" if summary else name
        case Fact(statement=text) | Preference(statement=text) | Procedure(statement=text):
            return text
