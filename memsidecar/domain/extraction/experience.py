"""What somebody says he never did, and what he says he did: the two sides of a contradiction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memsidecar.domain.claims import Claim, Span
from memsidecar.domain.extraction.prose import Clause, Mood, clauses_of, prose_of
from memsidecar.domain.memory import Kind

EXPERIENCE = "experience"
"""The attribute of every claim found here; the value says what was done."""

MAX_CLAIMS = 24
_STATEMENT = 280

_I = r"(?:\b(?:i|we)(?:['’]ve| have|['’]d| had)?|['’]ve)"
_NEVER = re.compile(
    rf"{_I} (?:(?:actually|really|honestly|personally|also|still|even) )*never (?:(?:actually|really|ever|even|before|yet|once|"
    r"formally|properly) )*(?P<what>[a-z]+\b[^\n]{0,200})"
    rf"|\b(?:i|we) (?:haven['’]t|have not) (?:(?:actually|really|ever|yet|even) )*(?P<what2>[a-z]+\b[^\n]{{0,200}})",
    re.IGNORECASE,
)
# Not experiences: what is never the case ("I never know", "I never get to").
_HABIT = re.compile(r"(?:know|want|like|think|understand|feel|get|wanna|mind|been able|been sure|seem|expect|decided|heard|been (?:so|more)|realized)\b", re.IGNORECASE)
_MAY = re.compile(r"never|haven['’]t|have not|从来?没|从未|没有?.{1,12}过", re.IGNORECASE)
_MAY_DO = re.compile(r"\b(?:i|i['’]ve|i['’]m|we|we['’]ve|my)\b|我", re.IGNORECASE)
_DID = re.compile(
    r"\b(?:i|we)(?:['’]ve| have|['’]m| am|['’]re| are|['’]d| had)? (?:(?:just|already|recently|also|now|only|currently|finally|previously|"
    r"been|actually|successfully|initially|still) )*(?P<verb>[a-z]+(?:ed|en|ing)|use|work|did|made|wrote|built|got|took|went|set|"
    r"ran|read|began|gave|had|won|met|saw|sent|spent|taught|found|done|put|run|cut|chose|have|submit)\b"
    r"|\bmy (?:score|accuracy|progress|experience|practice|certificate|course|first|grade|results?|key)\b"
    r"|\bhaving (?P<verb2>[a-z]+(?:ed|en))\b|\b(?:after|by) (?P<verb3>[a-z]+ing)\b",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"(?:wondering|thinking|considering|looking|planning|hoping|struggling|getting|feeling|worried|interested|concerned|confused|excited|"
    r"need|wanting|asking|going|seeing|having|stuck|tired|sure|curious|assuming|guessing|talking|aiming|supposed)$",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|never|n['’]t|without)\b|n['’]t\b", re.IGNORECASE)
_TAIL = re.compile(r"\b(?:before|yet|in (?:this|my|the) (?:project|life)|for this project|so far|until now|at all)\b.*$", re.IGNORECASE)

_ZH_NEVER = re.compile(r"[我咱][们]?(?:还|也|其实|之前|以前)*(?:从来?(?:都|就)?没有?|从未|没有?)(?P<what>[^，。？！；\n]{1,30}?过[^，。？！；\n]{0,30})")
_ZH_DID = re.compile(r"[我咱][们]?(?:上周|昨天|去年|之前|以前|曾经?|已经|刚刚?|最近|也|还)*(?P<what>[^，。？！；\n没不]{1,20}?[过了][^，。？！；\n]{0,30})")


def experience_claims(text: str) -> list[Claim]:
    """What the speaker says he never did (`negated`) and what he says he did or does, in order; `value` is in the words
    of the text, without the negation. Reads the first `MAX_CHARS` of a long text."""
    if _MAY_DO.search(text[:20_000]) is None:
        return []
    return claims_in(prose_of(text))


def claims_in(prose: str) -> list[Claim]:
    """The same, of what `prose_of` gave."""
    return [claim for clause in clauses_of(prose) for claim in _claims(prose, clause)][:MAX_CLAIMS]


def _claims(prose: str, clause: Clause) -> Iterator[Claim]:
    if not clause.own or clause.mood is Mood.SUPPOSES:
        return
    words = prose[clause.start : clause.end]
    if _MAY.search(words):
        never = _NEVER.search(words) or _ZH_NEVER.search(words)
        if never is not None:
            group = "what" if never.groupdict().get("what") else "what2"
            what = _TAIL.sub("", never[group]).strip(" ,.")
            if what and not _HABIT.match(what):
                start = clause.start + never.start(group)
                yield _experience(prose, clause, start, start + len(what), negated=True)
        return
    if clause.mood is Mood.ASKS:
        return
    did = _DID.search(words)
    if did is not None:
        verb = did["verb"] or did["verb2"] or did["verb3"] or ""
        if not _NOT_DONE.match(verb) and not _NEGATED.search(words[did.start() : did.end() + 12]):
            start = clause.start + (did.start("verb") if did["verb"] else did.start())
            yield _experience(prose, clause, start, clause.end, negated=False)
        return
    done = _ZH_DID.search(words)
    if done is not None:
        start = clause.start + done.start("what")
        yield _experience(prose, clause, start, clause.start + done.end("what"), negated=False)


def _experience(prose: str, clause: Clause, start: int, end: int, negated: bool) -> Claim:
    end = start + len(prose[start:end].rstrip(" ,."))
    first = max(clause.start, start - _STATEMENT // 2)
    return Claim(
        Kind.FACT,
        EXPERIENCE,
        " ".join(prose[start:end].split()),
        " ".join(prose[first : min(clause.end, first + _STATEMENT)].split()),
        Span(start, end),
        negated=negated,
        confidence=0.85 if negated else 0.7,
        importance=0.6 if negated else 0.5,
    )
