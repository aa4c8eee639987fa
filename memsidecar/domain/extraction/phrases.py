"""What a number counts or measures: the noun phrases on its two sides, as written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memsidecar.domain.extraction.numbers import POINTS

# Words before and after a number that may say what it counts.
_WORDS_BEFORE, _WORDS_AFTER = 8, 7
_IT = re.compile(
    r"\b(?:it|this|that|them)\s(?:(?:down|up|back)\s)?(?:to|at|from \S{1,12} to)\s(?:about |around )?$", re.IGNORECASE
)
# "I bought it on June 1st": the day of something that happened, not of something that has a date.
_ONLY_DONE = re.compile(
    r"[a-z]+ed|bought|got|went|came|saw|met|began|left|took|made|had|did|ran|remember(?:ed)?(?: [a-z]+ing)?",
    re.IGNORECASE,
)

_PRONOUN = re.compile(r"(?:of|on|in|for|with|at|to) (?:it|this|that|them|these|those)\b", re.IGNORECASE)
_NUMBER_OF = re.compile(
    r"\b(?:number|amount|count|percentage|share|rate|size|length|growth) of (?:(?:the|my|our|all"
    r"|new) )?(?P<what>(?:(?!i\b|we\b|in\b|on\b|into\b|for\b)[a-z]+ ?){1,5}(?<! ))",
    re.IGNORECASE,
)

WORD = re.compile(r"(?<![\w.,])(?:\d{1,2}(?=[A-Z]))?[A-Za-z][A-Za-z'’-]*")
# Words that end what is counted or measured, on both sides.
_ENDS = frozenset(
    """i i'm i've i'd i'll it it's he she they we we've we're you this that there which who whom what how when where why
    am is are was were be been being do does did has have had will would can could should may might must
    and but or if so because since as than then not no nor using use used via like including with without
    while before after during until between from by over within""".split()
)
_LEAD = frozenset(
    "the a an my our your his her their its those these some any all about around only just over nearly".split()
)
_ADVERBS = frozenset(
    """now recently already currently just only about around nearly almost over roughly approximately really finally
    actually also still even up down back further significantly consistently slightly steadily out
    to at of for from by in on under below above within than as is are was were be been has have had i've i'm
    improved improves increased decreased reduced extended expanded raised risen grown moved changed shifted pushed
    postponed rescheduled bumped adjusted revised upgraded lowered shortened delayed climbed jumped doubled boosted cut
    dropped rose grew fell went gone got brought reached reaches hit hits stands sits totals reflects covers scheduled
    due planned set booked expected confirmed goal target targets includes averages averaging which that it's it i we
    and but so new current total""".split()
)
_PLURALS = frozenset("people women men children mentees feet teeth mice data media staff kids".split())
_NOT_PLURAL = frozenset(
    "this is was has its as us does plus yes less across versus sometimes always thus hours".split()
)
_NOT_COUNTED = frozenset(
    "times time things way ways years year months weeks days day hours minutes seconds am pm or and to of in".split()
)
_WHEN = frozenset("now today yesterday tomorrow tonight already total so".split())
_PREPOSITIONS = frozenset("for of on in per about at across into with a".split())
PER = re.compile(
    r"\s?(?:/\s?|per |a |an |every |each )(?:day|week|month|year|minute|hour|second|night)\b|\s(?:daily|weekly"
    r"|monthly|yearly|annually)\b",
    re.IGNORECASE,
)


def phrase_of(left: str, right: str, previous: Sequence[str], kind: str) -> str:
    """What the number between `left` and `right` is of; `previous` are the clauses before, the nearest last. Empty when
    nothing says it. `kind` is its group in `numbers`."""
    before = _before(left)
    leans = _PRONOUN.match(right.lstrip()) is not None
    if leans or _IT.search(left) or only_leads(left):
        # "which was 800ms", "and I've brought it to 300ms": the clauses before say of what.
        before = next(filter(None, map(_before, reversed(previous))), before)
    if kind in ("count", "word"):
        named = _of_count(left, right, previous[-1] if previous else "", before, kind)
    else:
        after = "" if leans else _after(right, kind)
        named = f"{before} {after}" if before or kind not in POINTS else ""
        if kind in POINTS and _ONLY_DONE.fullmatch(named.strip()):
            return ""
    return " ".join(named.split())


def _of_count(left: str, right: str, previous: str, before: str, kind: str) -> str:
    counted = _counted(right)
    if counted:
        rate = PER.match(right, right.find(counted) + len(counted))
        # What the number is of counts too, as in "the daily quota of 1,200 calls".
        named = f"{before} {counted}" if _OF_END.search(left) else f"{_doing(left)} {counted}"
        return named + (rate.group() if rate is not None else "")
    if kind != "count" or _MEASURES.search(left) is None:
        return ""
    of = _NUMBER_OF.search(f"{previous[-_NUMBER_OF_REACH:]} {left}")
    if of is None:
        return before
    return of.group() if of["what"].split()[-1].lower() not in _ENDS else of.group().rsplit(None, 1)[0]


# How far before "has increased to 7" the words "the number of mentees" may stand.
_NUMBER_OF_REACH = 120
_VERB = re.compile(
    r"\b(?P<verb>[a-z]{2,}ed|read|wrote|written|bought|sold|made|built|won|lost|met|ran|run|took|got|sent|spent"
    r"|gave|saw|seen|ate|paid|saved|"
    r"caught|drank|taught|have|has|had|own|need) (?:(?:about|around|only|just|over|nearly|another|those|these"
    r"|the|my|our|all|up to) ){0,2}$",
    re.IGNORECASE,
)


_HAVING = frozenset("have has had".split())


def _doing(left: str) -> str:
    """What was done with what is counted, so that "read 5 books" is not "bought 5 books"; of "the page has 5 sections",
    what has them."""
    found = _VERB.search(left, max(0, len(left) - _VERB_REACH))
    verb = found["verb"].lower() if found is not None else ""
    if found is not None and verb in _HAVING:
        return _before(left[: found.start()])
    return verb if verb not in _ADVERBS else ""


_VERB_REACH = 40
_OF_END = re.compile(r"\bof (?:about |around |only )?$", re.IGNORECASE)
_MEASURES = re.compile(
    r"\b(?:is|are|was|were|has|have|reached|hit|to|at|of|now|around|about|only|totals?|stands|sits|up|down|over"
    r"|nearly)\s$",
    re.IGNORECASE,
)


def only_leads(left: str) -> bool:
    """Whether nothing before a number says what it is of: ", which has now reached"."""
    return all(_leads(word.group().lower()) for word in WORD.finditer(left))


def _leads(word: str) -> bool:
    return word in _ADVERBS or (word.endswith("ly") and word not in _NOT_ADVERBS)


_NOT_ADVERBS = frozenset("family daily weekly monthly yearly supply reply assembly july italy butterfly fly".split())


def _before(left: str) -> str:
    """The noun phrase that ends before a number, without the words that only lead to it."""
    base = max(0, len(left) - 160)
    words = list(WORD.finditer(left, base))
    while words and _leads(words[-1].group().lower()):
        words.pop()
    if words and words[-1].group().lower() == "with":
        return ""
    phrase: list[re.Match[str]] = []
    for word in reversed(words[-_WORDS_BEFORE:]):
        low = word.group().lower()
        # "to optimize" before a noun phrase, a number or a bracket within it: the phrase begins after them.
        if (low in _ENDS and low != "with") or (phrase and not left[word.end() : phrase[0].start()].isspace()):
            break
        if low == "to" and phrase:
            phrase.pop(0)
            break
        if low in _LEAD and phrase:
            ahead = left[base : word.start()].rsplit(None, 1)
            if not ahead or ahead[-1].lower() not in _PREPOSITIONS:
                break
        phrase.insert(0, word)
    # "a salary increase to $110,000" is a salary.
    while len(phrase) > 1 and phrase[-1].group().lower() in _MOVES:
        phrase.pop()
    while phrase and phrase[0].group().lower() in _LEAD | _PREPOSITIONS | _ADVERBS:
        phrase.pop(0)
    return left[phrase[0].start() : phrase[-1].end()] if phrase else ""


_MOVES = frozenset("increase increases decrease raise reduction rise drop boost improvement cut growth change".split())
_OF_THE = re.compile(r"\s(?:out )?of (?:the|my|our|these|those|all) ", re.IGNORECASE)


def _counted(right: str) -> str:
    """The noun phrase that a number counts: words up to a plural, and what it is of."""
    of = _OF_THE.match(right)
    words = list(WORD.finditer(right[:120], of.end() if of is not None else 0))
    if not words or words[0].start() > (of.end() if of is not None else 1):
        return ""
    head = next(
        (
            i
            for i, word in enumerate(words[:5])
            if _is_plural(word.group()) or word.group().lower() in _ENDS | _PREPOSITIONS
        ),
        None,
    )
    if head is None or not _is_plural(words[head].group()) or words[head].group().lower() in _NOT_COUNTED:
        return ""
    return right[words[0].start() : _complement(right, words, head)]


def _after(right: str, kind: str) -> str:
    """What a measure is of: "78% test coverage", "3 hours on dice problems"."""
    rate = PER.match(right)
    start = rate.end() if rate is not None else 0
    words = list(WORD.finditer(right[:120], start))
    if not words or words[0].start() > start + 2:
        return ""
    first = words[0].group().lower()
    if first in _ENDS or (kind in POINTS and first not in ("for", "of", "on", "to")):
        return ""
    stop = _complement(right, words, 0)
    return right[words[0].start() : stop]


def _complement(right: str, words: list[re.Match[str]], head: int) -> int:
    """Where a noun phrase ends whose head is the word `head`: "interviews for executive producer roles"."""
    end = words[head].end()
    for n, word in enumerate(words[head + 1 : head + _WORDS_AFTER]):
        low = word.group().lower()
        gap = right[words[head + n].end() : word.start()]
        if low in _ENDS or low == "to" or not gap.isspace():
            break
        if low not in _PREPOSITIONS and low not in _LEAD and low not in _WHEN:
            end = word.end()
    return end


def _is_plural(word: str) -> bool:
    low = word.lower()
    return low in _PLURALS or (
        len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is")) and low not in _NOT_PLURAL
    )
