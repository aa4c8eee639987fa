"""The English rules, in the order in which they are asked."""

from __future__ import annotations

import re
from dataclasses import replace

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_changes as changes
from memsidecar.domain.extraction import english_plans as plans
from memsidecar.domain.extraction.english_clauses import RELATIVE, Head, clauses, head_of
from memsidecar.domain.extraction.english_dates import dated, deadlines
from memsidecar.domain.extraction.english_facts import FACTS
from memsidecar.domain.extraction.english_likes import LIKES, answer_style, fancies, has_feeling, stopped
from memsidecar.domain.extraction.english_places import visited
from memsidecar.domain.extraction.english_states import became, follows, got, is_something, relates, turned
from memsidecar.domain.extraction.english_words import LANGUAGES, RELATIONS
from memsidecar.domain.extraction.english_work import trade
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.names import COMMON

_NOW = re.compile(r"(?<!right\s)(?<!for\s)\bnow\W*$")
_ACTUALLY = re.compile(r"\W*(?:well|so|but|and|oh)?\W*actually\b", re.IGNORECASE)
# "the love and study theme": these go on with what was said only when something was.
_ALSO_NOUNS = frozenset(("love", "hate", "study", "own"))
_CONTRASTS = re.compile(r",?\s*(?:and\s)?not\s(?!only|just)[\w' -]{1,30}$")
_AS_A = re.compile(
    r"(?:and\s|but\s|so\s)?as\s(?:a|an|the)\s(?P<trade>[a-z][a-z\s-]{2,50}?)(?:\s(?:at"
    r"|for)\s(?P<where>[A-Z][^,]{1,40})|\s(?:in|from|with)\s[^,]{2,40})?$",
    re.IGNORECASE,
)


def read_english(reading: Reading, start: int, end: int, *, asked: bool, note: bool = False) -> None:
    """Adds what a sentence states; of a question (`asked`), what it states before it asks. A `note` speaks of the user
    as of somebody else."""
    text = reading.text
    if not asked:
        reading.start, reading.end, reading.time = start, end, None
        if answer_style(reading):
            return
    before: Head | None = None
    for clause_start, clause_end in clauses(text, start, end, asked=asked):
        reading.start, reading.end, reading.time = clause_start, clause_end, None
        known = len(reading.claims)
        before = _read_clause(reading, clause_start, clause_end, before, note=note)
        if len(reading.claims) == known:
            continue
        if _NOW.search(text, clause_start, clause_end):
            # "Actually I live in Bergen now": it was otherwise before, and nobody was wrong.
            _mark(reading, known, Manner.CHANGED, corrected=_ACTUALLY.match(text, clause_start) is not None)
        if _CONTRASTS.match(text, clause_end, end):
            # "Bergen, not Oslo" takes Oslo back.
            _mark(reading, known, Manner.CORRECTED)
    if "eadline" in text[start:end]:
        deadlines(reading, start, end)
    if not asked and "y " in text[start:end]:
        _relatives(reading, start, end)


def _said(reading: Reading, head: Head | None) -> bool:
    """Whether something was read from the clause that a head begins."""
    return head is not None and bool(reading.claims) and reading.claims[-1].span.start >= head.start


def _mark(reading: Reading, known: int, manner: Manner, *, corrected: bool = False) -> None:
    """Gives a manner to the claims after the first `known` that say nothing of it themselves; to those that `corrected`
    something, too."""
    others = (Manner.STATED, Manner.CORRECTED) if corrected else (Manner.STATED,)
    reading.claims[known:] = [
        replace(claim, manner=manner) if claim.manner in others else claim for claim in reading.claims[known:]
    ]


def _read_clause(reading: Reading, start: int, end: int, before: Head | None, *, note: bool) -> Head | None:
    """Reads one; gives what the next one may go on with."""
    if dated(reading):
        return None
    if trade_of := _AS_A.match(reading.text, start, end):
        _as_a(reading, trade_of)
        return None
    head = head_of(reading.text, start, end, before, note=note)
    if head is not None and not head.owned and head.verb in _ALSO_NOUNS and not _said(reading, before):
        return None
    if head is not None:
        if not head.owned:
            reading.start = head.start
        _read(reading, head)
        changes.ended(reading, head)
    return head


def _relatives(reading: Reading, start: int, end: int) -> None:
    """Who is named as somebody's what, wherever it stands in the sentence."""
    for found in RELATIVE.finditer(reading.text, start, end):
        relation, name = RELATIONS.get(found.group("relation").lower()), Span(*found.span("name"))
        written = reading.text[name.start : name.end]
        known = any(claim.attribute == relation and claim.value.startswith(written) for claim in reading.claims)
        if relation is not None and not known and written not in COMMON and written.lower() not in LANGUAGES:
            reading.start, reading.end, reading.time = start, end, None
            reading.add(relation, name, entity_type="person" if relation != "pet" else "")


def _as_a(reading: Reading, found: re.Match[str]) -> None:
    """ "As a nurse at Bellevue, I ...": what the speaker is."""
    if re.match(
        r",?\s+(?:i|i'm|i've|my)\b", reading.text[found.end() : found.end() + 6], re.IGNORECASE
    ) is None or not trade(found.group("trade")):
        return
    reading.add("job", Span(*found.span("trade")))
    if found.group("where"):
        reading.add("employer", Span(*found.span("where")), entity_type="organisation")


def _read(reading: Reading, head: Head) -> None:
    if head.relation:
        relates(reading, head)
    verb = head.verb
    if not verb:
        return
    if verb == "to" and head.be == "been":
        visited(reading, head)
        return
    if (changing := changes.CHANGING.get(verb)) and changing(reading, head):
        return
    if head.be and verb not in FACTS and verb not in plans.PLANS:
        if not fancies(reading, head):
            is_something(reading, head)
        return
    before = len(reading.claims)
    if verb in ("have", "has") and (has_feeling(reading, head) or plans.appointment(reading, head)):
        return
    if liking := LIKES.get(verb):
        liking(reading, head)
        return
    if verb in ("turned", "turning"):
        turned(reading, head)
    elif verb == "got" and ("'ve" in head.words or "have" in head.words):
        FACTS["have"](reading, head)
    elif verb == "got":
        got(reading, head)
    elif verb in ("became", "become", "went"):
        became(reading, head)
    elif verb in ("follow", "follows", "eat", "on", "maintain"):
        follows(reading, head)
    elif verb in plans.PLANS:
        plans.plans(reading, head)
    if len(reading.claims) == before and (rule := FACTS.get(verb)):
        rule(reading, head)
    if len(reading.claims) == before and verb in ("left", "quit"):
        changes.left(reading, head)
    if len(reading.claims) == before and verb == "quit":
        stopped(reading, head)
    if len(reading.claims) == before and not plans.regularly(reading, head):
        plans.happened(reading, head)
