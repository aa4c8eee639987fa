"""The English rules, in the order in which they are asked."""

from __future__ import annotations

import re

from memsidecar.domain.extraction import english_dates as dates
from memsidecar.domain.extraction.english_clauses import Head, clauses, head_of
from memsidecar.domain.extraction.english_facts import FACTS
from memsidecar.domain.extraction.english_likes import LIKES, answer_style, fancies, has_feeling
from memsidecar.domain.extraction.english_states import became, follows, got, is_something, relates, turned
from memsidecar.domain.extraction.reading import Reading

# A sentence without one of these says nothing that a rule reads.
_WORTH = re.compile(r"\b(?:[Ii]|[Mm]y|[Ww]e|[Oo]ur|MY|WE|deadline|due|moved|postponed|rescheduled|pushed|delayed|extended|call me|Call me)\b|[Ff]rom now on|[Gg]oing forward|[Aa]lways|[Nn]ever|[Ff]uture")
_AS_A = re.compile(r"(?:and\s|but\s|so\s)?as\s(?:a|an|the)\s(?P<trade>[a-z][a-z\s-]{2,50}?)(?:\s(?:at|for|in|from)\s[^,]{2,40})?$", re.IGNORECASE)


def read_english(reading: Reading, start: int, end: int, *, asked: bool) -> None:
    """Adds what a sentence states; of a question (`asked`), what it states before it asks."""
    text = reading.text
    if not _WORTH.search(text, start, end):
        return
    if not asked:
        reading.start, reading.end, reading.time = start, end, None
        if answer_style(reading):
            return
    before: Head | None = None
    for clause_start, clause_end in clauses(text, start, end, asked=asked):
        reading.start, reading.end, reading.time = clause_start, clause_end, None
        if dates.dated(reading):
            before = None
            continue
        head = head_of(text, clause_start, clause_end, before)
        if head is None:
            before = None
            continue
        before = head
        _read(reading, head)


def _read(reading: Reading, head: Head) -> None:
    if head.relation:
        relates(reading, head)
    verb = head.verb
    if not verb:
        return
    if head.be and verb not in FACTS and verb not in dates.PLANS:
        if not fancies(reading, head):
            is_something(reading, head)
        return
    before = len(reading.claims)
    if verb in ("have", "has"):
        if has_feeling(reading, head) or dates.appointment(reading, head):
            return
    if rule := LIKES.get(verb):
        rule(reading, head)
        return
    if verb in ("turned", "turning"):
        turned(reading, head)
    elif verb == "got":
        got(reading, head)
    elif verb in ("became", "become", "went"):
        became(reading, head)
    elif verb in ("follow", "follows", "eat", "on", "maintain"):
        follows(reading, head)
    elif verb in dates.PLANS:
        dates.plans(reading, head)
    if len(reading.claims) == before and (rule := FACTS.get(verb)):
        rule(reading, head)
    if len(reading.claims) == before and not dates.regularly(reading, head):
        dates.happened(reading, head)
