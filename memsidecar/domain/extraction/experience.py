"""What somebody says he never did, and what he says he did: the two sides of a contradiction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memsidecar.domain.claims import Claim, Span
from memsidecar.domain.extraction.prose import (
    MAX_CHARS,
    MAX_STATEMENT,
    Clause,
    Mood,
    clauses_of,
    prose_of,
    statement_of,
)
from memsidecar.domain.memory import Kind
from memsidecar.domain.slots import EXPERIENCE

MAX_CLAIMS = 24
# Of a longer clause, the beginning is read.
_CLAUSE = 600

_I = r"(?:\b(?:i|we)(?:['’]ve| have|['’]d| had)?|['’]ve)"
_NEVER = re.compile(
    rf"{_I} (?:(?:actually|really|honestly|personally|also|still|even) )*never (?:(?:actually|really|ever|even"
    rf"|before|yet|once|"
    r"formally|properly) )*(?P<what>[a-z]+\b[^\n]{0,200})"
    rf"|\b(?:i|we) (?:haven['’]t|have not) (?:(?:actually|really|ever|yet|even) )*(?P<what2>[a-z]+\b[^\n]{{0,200}})",
    re.IGNORECASE,
)
# Not experiences: what is never the case ("I never know", "I never get to").
_HABIT = re.compile(
    r"(?:know|want|give|gave|gotten|fail|stop|forg[eo]t|let|miss|liked|loved|ceas|had (?:a|the) (?:problem"
    r"|chance)|like|think|understand|feel|get|wanna|mind|been able|been sure|seem|expect|decided|heard"
    r"|been (?:so|more)|realized)\b",
    re.IGNORECASE,
)
_MAY = re.compile(r"never|haven['’]t|have not|从来?没|从未|没有?.{1,12}过", re.IGNORECASE)
_MAY_DO = re.compile(r"\b(?:i|i['’]ve|i['’]m|we|we['’]ve|my)\b|我", re.IGNORECASE)
_DID = re.compile(
    r"\b(?:i|we)(?:['’]ve| have|['’]m| am|['’]re| are|['’]d| had)? (?:(?:just|already|recently|also|now|only"
    r"|currently|finally|previously|"
    r"been|actually|successfully|initially|still) )*(?P<verb>[a-z]+(?:ed|en|ing)|use|work|did|made|wrote|built"
    r"|got|took|went|set|"
    r"ran|read|began|gave|won|met|saw|sent|spent|taught|found|done|put|run|cut|chose)\b(?P<to> to \w+)?"
    r"|\bmy (?P<mine>score|accuracy|progress|experience|practice|certificate|grade|results?)\b"
    r"|\bhaving (?P<verb2>[a-z]+(?:ed|en))\b|\bafter (?P<verb3>[a-z]+ing)\b",
    re.IGNORECASE,
)
# What a question takes for granted: "my key obtained on March 10".
_HAVING = re.compile(
    r"\bmy (?P<what>(?:[\w.-]+ ){1,5}[a-z]+(?:ed|en|ght|lt) (?:on|in|from|at|with|last|by) [\w.-]+)", re.IGNORECASE
)
_NOT_DONE = re.compile(
    r"(?:wondering|thinking|considering|looking|planning|hoping|struggling|getting|feeling|worried|interested"
    r"|concerned|confused|excited|"
    r"need|wanting|asking|going|seeing|having|stuck|tired|sure|curious|seen|heard|told|noticed|used to"
    r"|learned about|decided|assuming|guessing|talking|aiming|supposed)$",
    re.IGNORECASE,
)
_NO_DOING = re.compile(
    r" to (?:understand|decide|figure|learn|plan|find|know|see|think|determine|choose|compare|remember|avoid|get"
    r"|make|say|ask|start|become)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|never|n['’]t|without)\b|n['’]t\b", re.IGNORECASE)
_TAIL = re.compile(
    r"\b(?:before|yet|in (?:this|my|the) (?:project|life)|for this project|so far|until now|at all)\b.*$", re.IGNORECASE
)

_ZH_NEVER = re.compile(
    r"[我咱][们]?(?:还|也|其实|之前|以前)*(?:从来?(?:都|就)?没有?|从未|没有?)(?P<what>[^，。？！；\n]{1,30}?过[^，。？！；\n]{0,30})"
)
_ZH_DID = re.compile(
    r"[我咱][们]?(?:上周|昨天|去年|之前|以前|曾经?|已经|刚刚?|最近|也|还)*"
    r"(?!要|会|想|快|太|打算|希望|知道)(?P<what>[^，。？！；\n没不]{1,20}?(?:过|了(?=[^，。？！；\n]{2}))[^，。？！；\n]{0,30})"
)


def experience_claims(text: str) -> list[Claim]:
    """What the speaker says he never did (`negated`) and what he says he did or does, in order; `value` is in the words
    of the text, without the negation. Reads the first `MAX_CHARS` of a long text."""
    text = text[:MAX_CHARS]
    if not may_do(text):
        return []
    prose = prose_of(text)
    return claims_in(prose, clauses_of(prose))


def may_do(text: str) -> bool:
    """Whether a text may say what its speaker did."""
    return _MAY_DO.search(text) is not None


def claims_in(prose: str, clauses: list[Clause]) -> list[Claim]:
    """The same, of what `prose_of` and `clauses_of` gave."""
    found: list[Claim] = []
    before: list[Clause] = []
    for clause in clauses:
        if before and before[-1].sentence != clause.sentence:
            before = []
        found += _claims(prose, clause, before)
        if len(found) >= MAX_CLAIMS:
            break
        before.append(clause)
    return found


def _claims(prose: str, clause: Clause, before: list[Clause]) -> Iterator[Claim]:
    if not clause.own or clause.mood is Mood.SUPPOSES:
        return
    words = prose[clause.start : min(clause.end, clause.start + _CLAUSE)]
    if _MAY.search(words):
        never = _NEVER.search(words) or _ZH_NEVER.search(words)
        if never is not None:
            group = "what" if never.groupdict().get("what") else "what2"
            what = _TAIL.sub("", never[group]).strip(" ,.")
            if what and not _HABIT.match(what):
                start = clause.start + never.start(group)
                yield _experience(prose, clause, before, start, start + len(what), negated=True)
        return
    if clause.mood is Mood.ASKS:
        having = _HAVING.search(words)
        if having is not None:
            yield _experience(
                prose,
                clause,
                before,
                clause.start + having.start("what"),
                clause.start + having.end("what"),
                negated=False,
            )
        return
    for did in _DID.finditer(words):
        verb = did["verb"] or did["verb2"] or did["verb3"] or ""
        after = words[did.start() : did.end() + 12]
        if _NOT_DONE.match(verb) or (did["to"] and _NO_DOING.match(did["to"])) or _NEGATED.search(after):
            continue
        start = clause.start + (did.start("verb") if did["verb"] else did.start())
        yield _experience(prose, clause, before, start, min(clause.end, start + MAX_STATEMENT), negated=False)
        return
    done = _ZH_DID.search(words)
    if done is not None:
        start = clause.start + done.start("what")
        yield _experience(prose, clause, before, start, clause.start + done.end("what"), negated=False)


def _experience(prose: str, clause: Clause, before: list[Clause], start: int, end: int, negated: bool) -> Claim:
    end = start + len(prose[start:end].rstrip(" ,."))
    return Claim(
        Kind.FACT,
        EXPERIENCE,
        " ".join(prose[start:end].split()),
        statement_of(prose, clause, before, start, end),
        Span(start, end),
        negated=negated,
        confidence=0.85 if negated else 0.7,
        importance=0.6 if negated else 0.5,
    )
