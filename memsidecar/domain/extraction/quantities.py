"""How much, how many, until when: the statements of a number about something that a text makes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memsidecar.domain.attributes import attribute_of
from memsidecar.domain.claims import Claim, Manner, Span
from memsidecar.domain.extraction.chinese_quantities import chinese_quantities, may_have_chinese
from memsidecar.domain.extraction.numbers import MAY_HAVE, NEAR, POINTS, numbers_of
from memsidecar.domain.extraction.phrases import PER, WORD, phrase_of
from memsidecar.domain.extraction.prose import Clause, Mood, statement_of
from memsidecar.domain.memory import Kind
from memsidecar.domain.quantity_slots import GOAL

MAX_CLAIMS = 24
"""Of one text; a text with more is a table or a list of numbers, not what somebody says of himself."""

_CHANGED = re.compile(
    r"\bnow\b(?! that)|\bno longer\b|\binstead of\b|\brecent(?:ly)?\b|\bnew\b|\bnewly\b|\bthese days\b|\breached\b"
    r"|(?:have|has|['’]ve|['’]s) since\b|\bup (?:to|from)\b|\bdown (?:to|from)\b|\bas of (?:now|today)\b"
    r"|\bjust (?:hit|passed|crossed)\b",
    re.IGNORECASE,
)
# "increased my practice to" before the number itself.
_MOVED = re.compile(
    r"\b(?:(?:improv|increas|decreas|reduc|extend|expand|rais|ris|grow|mov|chang|shift|push|postpon|reschedul|bump|adjust"
    r"|revis|upgrad|lower|shorten|lengthen|delay|shrink|climb|jump|doubl|boost|cut|drop(?:p)?|updat|slipp)(?:ed|en|e?s|n|ing)?"
    r"|rose|grew|grown|fell|fallen|went|gone|going|got|brought|cut|risen|set back)\b[^,.;]{0,80}?\b(?:to|from|at)\s"
    r"(?:about |around |nearly |over |almost |just |a total of )?$",
    re.IGNORECASE,
)
# Of what adds up or is measured, these say so too; of a date they do not.
_SO_FAR = re.compile(r"\balready\b|\bso far\b|\bcurrently\b|\btotal of\b|\bin total\b", re.IGNORECASE)
_CORRECTED = re.compile(r"\b(?:i meant|i misspoke|correction|that was wrong|not \S{1,12} but)\b", re.IGNORECASE)
_WANTS = re.compile(
    r"\b(?:want|need|aim|hope|plan|like|try|trying|going|aiming|hoping|planning|looking|wanting|needing|order"
    r"|managed|how)"
    r" to (?:also )?(?P<verb>[a-z]+)\b|\b(?:goal|target|aim|aiming for|aiming at|would|will|should|must|['’]ll"
    r"|so that)\b",
    re.IGNORECASE,
)
_WANTED = frozenset(
    """reach achieve get keep hit stay increase improve reduce bring lower raise cut finish complete solve save lose run
    read spend make limit maintain earn gain be have attain ensure decrease drop grow hire secure submit
    launch""".split()
)
_BOUND = re.compile(
    r"\b(?:under|below|less than|at least|at most|within|no more than|maximum of|minimum of|fewer than"
    r"|limit(?:ed)? to|by)\s"
    r"(?:about |around )?$",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\b(?:their|his|her|its|your|[A-Z][a-z]+['’]s) (?:[a-z]+ ){0,6}(?:from \S+ to )?$")
_OWN = re.compile(r"\b(?:i|i['’](?:m|ve|d)|my|we|we['’](?:re|ve)|our)\b|[我咱]", re.IGNORECASE)
_LEANS = re.compile(
    r"(?:and |but |so )?(?:which|after|before|by|it|it['’]s|this|that|now|recently|currently|with|[a-z]+ing"
    r"|[a-z]+ed)\b",
    re.IGNORECASE,
)
_PRESUPPOSED = re.compile(
    r"\b(?:the|my|our|those|these)\s(?:[a-z0-9/-]+\s){0,4}$|\b(?:i|we)(?:['’]ve)? (?:[a-z]+ ){1,3}$", re.IGNORECASE
)


def may_count(text: str) -> bool:
    """Whether a text may state a number of something: most state none."""
    return MAY_HAVE.search(text) is not None or may_have_chinese(text)


def claims_in(prose: str, clauses: list[Clause]) -> list[Claim]:
    """What a turn states a number of, in order: `attribute` says what is counted or measured, `value` the quantity,
    both as written. Not what is asked, supposed, quoted, or in code; what is only wanted has an attribute that begins
    with `GOAL`. `prose` and `clauses` are what `prose_of` and `clauses_of` make of a text."""
    found: list[Claim] = []
    before: list[Clause] = []
    for clause in clauses:
        if before and before[-1].sentence != clause.sentence:
            before = []
        if clause.mood is not Mood.SUPPOSES:
            found += _claims(prose, clause, before)
            if len(found) > MAX_CLAIMS:
                return []
        before.append(clause)
    return found


def _claims(prose: str, clause: Clause, before: list[Clause]) -> Iterator[Claim]:
    for match, left, right in numbers_of(prose, clause.start, clause.end):
        claim = _claim(prose, clause, before, match, left, right)
        if claim is not None:
            yield claim
    yield from chinese_quantities(prose, clause)


def _claim(
    prose: str, clause: Clause, before: list[Clause], match: re.Match[str], left: str, right: str
) -> Claim | None:
    kind = match.lastgroup or ""
    earlier = [prose[max(clause.start, clause.end - NEAR) : clause.end] for clause in before[-_CLAUSES_BEFORE:]]
    previous = earlier[-1] if earlier else ""
    begins = prose[clause.start : min(clause.end, clause.start + NEAR)].lstrip()
    changed = _says_change(left, right, kind) or (WORD.search(left) is None and _says_change(previous, "", kind))
    if not (changed or _is_own(left + right, begins, previous) or _PLAIN.match(begins)):
        return None
    if clause.mood is Mood.ASKS and _PRESUPPOSED.search(left) is None:
        return None
    attribute = phrase_of(left, right, earlier, kind)
    subject = _subject(begins)
    if not attribute or subject is None or _OTHERS.search(left[-80:]) or _is_for_other_rules(attribute):
        return None
    if subject:
        attribute = _less(attribute, subject)
    if _is_goal(left, kind):
        attribute = GOAL + attribute
    rate = PER.match(right) if kind in ("money", "measure", "count") else None
    end = match.end() + (rate.end() if rate is not None else 0)
    return Claim(
        Kind.FACT,
        attribute,
        prose[match.start() : end].strip(),
        statement_of(prose, clause, before, match.start(), match.end()),
        Span(match.start(), match.start() + len(prose[match.start() : end].rstrip())),
        subject=subject,
        manner=Manner.CORRECTED if _CORRECTED.search(left) else Manner.CHANGED if changed else Manner.STATED,
        confidence=0.85 if clause.mood is Mood.STATES else 0.7,
    )


def _less(attribute: str, subject: str) -> str:
    """The attribute without whose it is: of "my sister has 2 kids" the kids."""
    who = subject.partition(" ")[2] + " "
    return attribute[len(who) :] if attribute.startswith(who) else attribute


def _is_own(around: str, begins: str, previous: str) -> bool:
    """Whether the clause speaks of the speaker, or goes on about what he spoke of."""
    if _OWN.search(around):
        return True
    return _LEANS.match(begins) is not None and _OWN.search(previous) is not None


# How many clauses before may say what a number is of.
_CLAUSES_BEFORE = 3
# What one states of oneself with a number and other rules read more exactly: "I'm 34", "180 cm tall".
_OTHER_RULES = frozenset(
    ("age", "height", "weight", "birthday", "name", "from", "status", "phone", "grade", "children")
)


def _is_for_other_rules(attribute: str) -> bool:
    known = attribute_of(attribute)
    return known is not None and known.key in _OTHER_RULES


_SUBJECT = re.compile(
    r"(?:and |but |so |since |because )?(?P<who>my (?:(?:older|younger|little|big|best|late|ex-?) ?)?(?:sister"
    r"|brother|mom|mum|mother|dad|father"
    r"|parents|wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|son|daughter|kids?|child|children|uncle"
    r"|aunt|cousins?|grandma|grandpa"
    r"|grandmother|grandfather|nephew|niece|friends?|boss|manager|colleagues?|coworkers?|roommates?|neighbou?rs?"
    r"|doctor|teacher|dog|cat|puppy"
    r"|kitten|team|company)(?! ?['’]s)(?-i: [A-Z][a-z]+)?|(?:he|she|they|you)(?= ))\b",
    re.IGNORECASE,
)


def _subject(begins: str) -> str | None:
    """Whose the claim is: empty for the speaker, "my sister", or None when it is somebody's who is not named."""
    found = _SUBJECT.match(begins[:60])
    if found is None:
        return ""
    return found["who"] if found["who"][:2].lower() == "my" else None


_PLAIN = re.compile(
    r"(?:the |this |current(?:ly)?,? )+(?:[a-z-]+ ){0,4}?(?:deadline|coverage|budget|rent|salary|time|latency"
    r"|uptime|quota|limit|rate|score|meeting"
    r"|interview|appointment|exam|launch|release|milestone|price|cost|fee|size|target date"
    r"|due date)(?: [a-z]+){0,6} (?:is|was|are|were|stands|"
    r"sits|has|covers?|starts?|ends?)\b",
    re.IGNORECASE,
)


def _says_change(left: str, right: str, kind: str) -> bool:
    if _MOVED.search(left):
        return True
    if kind in POINTS:
        # A recent date is no other date.
        return any(not cue.group().lower().startswith("recent") for cue in _CHANGED.finditer(left))
    near = right[:_CUE_AFTER]
    return any(cue.search(part) for cue in (_CHANGED, _SO_FAR) for part in (left, near))


# "12 now", "5 in total": how far behind a number such a word may stand.
_CUE_AFTER = 60


def _is_goal(left: str, kind: str) -> bool:
    near = left[-80:]
    wants = next(reversed([*_WANTS.finditer(near)]), None)
    if wants is not None and (wants["verb"] is None or wants["verb"].lower() in _WANTED):
        return not wants.group().lower().startswith("managed")
    if kind == "date":
        return False
    return _BOUND.search(near) is not None
