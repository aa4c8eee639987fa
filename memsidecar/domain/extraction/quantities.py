"""How much, how many, until when: the statements of a number about something that a text makes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from memsidecar.domain.amounts import MONTH, amount_of
from memsidecar.domain.claims import Claim, Manner, Span
from memsidecar.domain.extraction.prose import MAX_CHARS, Clause, Mood, clauses_of, prose_of
from memsidecar.domain.memory import Kind
from memsidecar.domain.text import HAN

MAX_CLAIMS = 24
"""Of one text; a text with more is a table or a list of numbers, not what somebody says of himself."""
GOAL = "goal: "
"""Before the attribute of what somebody wants to reach: it is not what is so."""
GOAL_ZH = "目标："

_STATEMENT = 280
# Characters of a clause around a number that are read.
_NEAR = 240
# Words before and after a number that may say what it counts.
_WORDS_BEFORE, _WORDS_AFTER = 8, 7

_SMALL = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety"
_UNIT = (
    r"%|percent\b|ms\b|milliseconds?\b|seconds?\b|secs?\b|s\b|minutes?\b|mins?\b|hours?\b|hrs?\b|days?\b|weeks?\b|months?\b"
    r"|years?\b|kb\b|mb\b|gb\b|tb\b|km\b|kg\b|lbs?\b|pounds?\b|kilos?\b|miles?\b|kilomet(?:er|re)s?\b|met(?:er|re)s?\b"
    r"|dollars?\b|euros?\b|yuan\b|rmb\b"
)
_QUANTITY = re.compile(
    rf"(?P<date>\b{MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}}\b)?|\b\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}(?![a-z])(?:,?\s\d{{4}}\b)?"
    r"|\b\d{4}-\d\d-\d\d\b)"
    r"|(?P<clock>\b\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?)"
    r"|(?P<money>[$€£¥]\s?\d[\d,]{0,14}(?:\.\d{1,2})?(?:k|m)?\b)"
    rf"|(?P<measure>(?<![\w.,$-])\d[\d,]{{0,14}}(?:\.\d{{1,6}})?\s?(?:{_UNIT}))"
    r"|(?P<part>(?<![\w.,/$-])\d{1,4}(?:/| out of )\d{1,4}(?![\w/.-]))"
    r"|(?P<count>(?<![\w.,/$£€#(=+*^×·-])\d[\d,]{0,14}(?:\.\d{1,2})?k?(?![\w/-]|[.,]\d|\s?[=+*^×·/−<>-]\s?[\w(]))"
    rf"|(?P<word>\b(?:{_SMALL})(?=\s[a-z]))",
    re.IGNORECASE,
)
_MAY_HAVE = re.compile(rf"\d|[一二两三四五六七八九十百千]|\b(?:{_SMALL})\s", re.IGNORECASE)

# What makes a number a name, an example's or a machine's, by the word before it.
_NAMED = re.compile(
    r"(?:\b(?:version|v|step|question|part|chapter|section|page|line|lines|port|http|https|error|code|status|room|flight|id|"
    r"level|grade|figure|table|item|option|sprint|phase|day|week|module|unit|lesson|type|rfc|iso|es|node|python|flask|"
    r"bootstrap|html|css|bus|route|no|number|season|episode|sides?|ratio|radius|base|height|sum|probability|rolling|roll|rolled|"
    r"sprints|rows?|top|last|next|first|past|previous|every|each|per|another|other|exactly|getting|drawing|draw|drew|choose|"
    r"objects?|numbers)|[A-Z][\w.+#-]*|[=+*^×·/−<>])\s?$"
)
_PRONOUN_END = re.compile(r"\b(?:I|It|We|My|Now|Only|About|Around|Nearly|Almost|Over|At|With|To|Of)\s$")
_STATUS = re.compile(
    r"\s?(?:errors?|not found|unauthorized|internal|bad request|ok\b|status|response code|people? in a)", re.IGNORECASE
)

_CHANGED = re.compile(
    r"\bnow\b(?! that)|\bno longer\b|\binstead of\b|\brecent(?:ly)?\b|\bnew\b|\bnewly\b|\bthese days\b|\bjust (?:hit|passed|crossed)\b"
    r"|\b(?:improv|increas|decreas|reduc|extend|expand|rais|ris|grow|mov|chang|shift|push|postpon|reschedul|bump|adjust|"
    r"revis|upgrad|lower|shorten|lengthen|delay|shrink|climb|jump|doubl|boost|cut|drop(?:p)?|updat)(?:ed|en|e?s|n|ing)?\b"
    r"[^,.;]{0,60}?\b(?:to|from|at)\s"
    r"|\b(?:rose|grew|grown|fell|went|gone|going|got|brought|cut|dropped|slipped|risen|fallen) (?:[a-z]+ ){0,4}?(?:up|down|back|to|from)\b"
    r"|\breached\b|\bup (?:to|from)\b|\bdown (?:to|from)\b|\bas of (?:now|today)\b",
    re.IGNORECASE,
)
# Of what adds up or is measured, these say so too; of a date they do not.
_SO_FAR = re.compile(r"\balready\b|\bso far\b|\bcurrently\b|\btotal of\b|\bin total\b", re.IGNORECASE)
_CORRECTED = re.compile(r"\b(?:i meant|i misspoke|correction|that was wrong|not \S{1,12} but)\b", re.IGNORECASE)
_WANTS = re.compile(
    r"\b(?:want|need|aim|hope|plan|like|try|trying|going|aiming|hoping|planning|looking|wanting|needing|order|managed|how)"
    r" to (?:also )?(?P<verb>[a-z]+)\b|\b(?:goal|target|aim|aiming for|aiming at|would|will|should|must|['’]ll|so that)\b",
    re.IGNORECASE,
)
_WANTED = frozenset(
    """reach achieve get keep hit stay increase improve reduce bring lower raise cut finish complete solve save lose run
    read spend make limit maintain earn gain be have attain ensure decrease drop grow hire secure submit launch""".split()
)
_BOUND = re.compile(
    r"\b(?:under|below|less than|at least|at most|within|no more than|maximum of|minimum of|fewer than|limit(?:ed)? to|by)\s"
    r"(?:about |around )?$",
    re.IGNORECASE,
)

# "by 30%" and "a 15% improvement" say how much it changed, not how much it is.
_DELTA_BEFORE = re.compile(
    r"\b(?:by|of) (?:about |around |nearly |over |an? )?$(?<=by )|\bby (?:about |around |nearly |over )$", re.IGNORECASE
)
_DELTA_AFTER = re.compile(
    r"\s?(?:[a-z]+ )?(?:improvement|increase|decrease|reduction|raise|drop|boost|growth|gain|discount|off|faster|slower|more|less|fewer|extra"
    r"|additional|new|ago|later|earlier|old)\b",
    re.IGNORECASE,
)
_SCORED = re.compile(r"\b(?:scor|correct|right|got|answered|rating|rated|grade)", re.IGNORECASE)
_FORMULA = re.compile(r"[=×√∠°²³∩\\^]|\bprobability of\b|\bformula\b|\d[CP]\d|\bsided\b", re.IGNORECASE)
_OTHERS = re.compile(r"\b(?:their|his|her|its|your|[A-Z][a-z]+['’]s) (?:[a-z]+ ){0,6}(?:from \S+ to )?$")
_OWN = re.compile(r"\b(?:i|i['’](?:m|ve|d)|my|we|we['’](?:re|ve)|our)\b|[我咱]", re.IGNORECASE)
_LEANS = re.compile(
    r"(?:and |but |so )?(?:which|after|before|by|it|it['’]s|this|that|now|recently|currently|with|[a-z]+ing|[a-z]+ed)\b",
    re.IGNORECASE,
)
_PRESUPPOSED = re.compile(
    r"\b(?:the|my|our|those|these)\s(?:[a-z0-9/-]+\s){0,4}$|\b(?:i|we)(?:['’]ve)? (?:[a-z]+ ){1,3}$", re.IGNORECASE
)
_PRONOUN = re.compile(r"(?:of|on|in|for|with|at|to) (?:it|this|that|them|these|those)\b", re.IGNORECASE)
_NUMBER_OF = re.compile(
    r"\b(?:number|amount|count|percentage|share|rate|size|length|growth) of (?:(?:the|my|our|all|new) )?(?P<what>(?:(?!i\b|we\b|in\b|on\b|into\b|for\b)[a-z]+ ?){1,5}(?<! ))",
    re.IGNORECASE,
)

_WORD = re.compile(r"(?<![\w.,])\d{0,3}[A-Za-z][A-Za-z'’-]*")
# Words that end what is counted or measured, on both sides.
_ENDS = frozenset(
    """i i'm i've i'd i'll it it's he she they we we've we're you this that there which who whom what how when where why
    am is are was were be been being do does did has have had will would can could should may might must
    and but or if so because since as than then not no nor using use used via like including with without into
    while before after during until between from by over within""".split()
)
_LEAD = frozenset(
    "the a an my our your his her their its those these some any all about around only just over nearly".split()
)
_ADVERBS = frozenset(
    """now recently already currently just only about around nearly almost over roughly approximately really finally
    actually also still even up down back further significantly consistently slightly steadily out
    to at of for from by in on under below above within than as is are was were be been has have had i've i'm
    improved improves increased decreased reduced extended expanded raised risen grown moved changed shifted pushed postponed
    rescheduled bumped adjusted revised upgraded lowered shortened delayed climbed jumped doubled boosted cut dropped rose
    grew fell went gone got brought reached reaches hit hits stands sits totals reflects covers scheduled due planned set booked expected confirmed goal target
    targets includes averages averaging which that
    it's it i we and but so new current total""".split()
)
_PLURALS = frozenset("people women men children mentees feet teeth mice data media staff kids".split())
_NOT_PLURAL = frozenset(
    "this is was has its as us does plus yes less across versus sometimes always thus hours".split()
)
_NOT_COUNTED = frozenset("times time things way ways years year days day am pm or and to of in".split())
_PREPOSITIONS = frozenset("for of on in per about at across into with a".split())
_PER = re.compile(
    r"\s?(?:/\s?|per |a |an |every |each )(?:day|week|month|year|minute|hour|second|night)\b|\s(?:daily|weekly|monthly|yearly|annually)\b",
    re.IGNORECASE,
)


def quantity_claims(text: str) -> list[Claim]:
    """What a turn states a number of, in order: `attribute` says what is counted or measured, `value` the quantity, both
    as written. Not what is asked, supposed, quoted, or in code; what is only wanted has an attribute beginning with
    `GOAL`. Takes half a millisecond for a turn of a chat; reads the first `MAX_CHARS` of a long text."""
    text = text[:MAX_CHARS]
    if _MAY_HAVE.search(text) is None:
        return []
    prose = prose_of(text)
    return claims_in(prose, clauses_of(prose))


def claims_in(prose: str, clauses: list[Clause]) -> list[Claim]:
    """The same, of what `prose_of` and `clauses_of` gave."""
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
    words = prose[clause.start : clause.end]
    if _MAY_HAVE.search(words) is None or _FORMULA.search(words):
        return
    if clause.mood is not Mood.SUPPOSES:
        matches = list(islice(_QUANTITY.finditer(prose, clause.start, clause.end), MAX_CLAIMS))
        for i, match in enumerate(matches):
            if not _is_past(prose, match, matches[i + 1 : i + 2]):
                claim = _claim(prose, clause, before, match)
                if claim is not None:
                    yield claim
    yield from _han_claims(prose, clause)


_TO = re.compile(r"\s?(?:[a-z]+ ){0,2}(?:up |down )?to\s", re.IGNORECASE)


def _around(prose: str, clause: Clause, match: re.Match[str]) -> tuple[str, str]:
    """What stands before and after a number in its clause, no more than a sentence of each."""
    return prose[max(clause.start, match.start() - _NEAR) : match.start()], prose[
        match.end() : min(clause.end, match.end() + _NEAR)
    ]


def _end_of(prose: str, clause: Clause) -> str:
    return prose[max(clause.start, clause.end - _NEAR) : clause.end]


_BETWEEN = re.compile(r"\bbetween (?:[^,;.]{1,24} and )?$", re.IGNORECASE)


def _is_past(prose: str, match: re.Match[str], after: list[re.Match[str]]) -> bool:
    """Of "from 70% to 90%" the first is past; and of "from April 25 to May 1" or "between" neither is a state."""
    left = prose[max(0, match.start() - 12) : match.start()]
    if after and left.endswith("from "):
        return _TO.fullmatch(prose, match.end(), after[0].start()) is not None
    return _BETWEEN.search(prose, max(0, match.start() - 40), match.start()) is not None


def _claim(prose: str, clause: Clause, before: list[Clause], match: re.Match[str]) -> Claim | None:
    kind = match.lastgroup or ""
    left, right = _around(prose, clause, match)
    if kind in ("count", "word", "part", "measure") and _is_a_name(left, right, kind):
        return None
    if _DELTA_BEFORE.search(left) or _DELTA_AFTER.match(right):
        return None
    if kind == "part" and _SCORED.search(left + right) is None:
        return None
    previous = before[-1] if before else None
    leaning = previous is not None and _LEANS.match(prose[clause.start : clause.start + _NEAR].lstrip()) is not None
    changed = _cue(left, right, kind)
    if not changed and previous is not None and _WORD.search(left) is None:
        changed = _cue(_end_of(prose, previous), "", kind)
    own = _OWN.search(left + right) or (previous is not None and leaning and _OWN.search(_end_of(prose, previous)))
    if not (own or changed or _plainly(prose, clause)):
        return None
    if clause.mood is Mood.ASKS and _PRESUPPOSED.search(left) is None:
        return None
    attribute = _attribute(prose, clause, previous, match, kind)
    if not attribute or _subject(prose, clause).lower() in ("he", "she", "they", "you") or _OTHERS.search(left[-80:]):
        return None
    if _is_goal(left, right, kind):
        attribute = GOAL + attribute
    value = match.group()
    per = _PER.match(right) if kind in ("money", "measure", "count") else None
    if per is not None:
        value = prose[match.start() : match.end() + per.end()]
    return Claim(
        Kind.FACT,
        attribute,
        value.strip(),
        _statement(prose, clause, before, match.start(), match.end()),
        Span(match.start(), match.start() + len(value.rstrip())),
        subject=_subject(prose, clause),
        manner=Manner.CORRECTED if _CORRECTED.search(left) else Manner.CHANGED if changed else Manner.STATED,
        confidence=0.85 if clause.mood is Mood.STATES else 0.7,
    )


_SUBJECT = re.compile(
    r"(?:and |but |so |since |because )?(?P<who>my (?:(?:older|younger|little|big|best|late|ex-?) ?)?(?:sister|brother|mom|mum|mother|dad|father"
    r"|parents|wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|son|daughter|kids?|child|children|uncle|aunt|cousins?|grandma|grandpa"
    r"|grandmother|grandfather|nephew|niece|friends?|boss|manager|colleagues?|coworkers?|roommates?|neighbou?rs?|doctor|teacher|dog|cat|puppy"
    r"|kitten|team|company)(?! ?['’]s)(?: [A-Z][a-z]+)?|(?:he|she|they|you)(?= ))\b",
    re.IGNORECASE,
)
_HAN_SUBJECT = re.compile(
    "我的?(?P<who>(?:妈妈|爸爸|妈|爸|母亲|父亲|姐姐|妹妹|哥哥|弟弟|儿子|女儿|老公|老婆|丈夫|妻子|女朋友|男朋友|朋友|同事|老板|奶奶|爷爷|孩子))(?!的)|[他她]们?|[你您]"
)


def _subject(prose: str, clause: Clause) -> str:
    """Whose the claim is when it is not the speaker's: "my sister has two kids"."""
    found = _SUBJECT.match(prose[clause.start : clause.start + 60].lstrip())
    return found["who"] if found is not None else ""


def _plainly(prose: str, clause: Clause) -> bool:
    """ "The project deadline is April 15": of such things one speaks when they are one's own."""
    return clause.mood is Mood.STATES and _PLAIN.match(prose[clause.start : clause.start + _NEAR].lstrip()) is not None


_PLAIN = re.compile(
    r"(?:the |this |current(?:ly)?,? )+(?:[a-z-]+ ){0,4}?(?:deadline|coverage|budget|rent|salary|time|latency|uptime|quota|limit|rate|score|meeting"
    r"|interview|appointment|exam|launch|release|milestone|price|cost|fee|size|target date|due date)(?: [a-z]+){0,6} (?:is|was|are|were|stands|"
    r"sits|has|covers?|starts?|ends?)\b",
    re.IGNORECASE,
)


def _cue(left: str, right: str, kind: str) -> bool:
    if kind in ("date", "clock"):
        # A recent date is no other date.
        return any(not cue.group().lower().startswith("recent") for cue in _CHANGED.finditer(left))
    return bool(
        _CHANGED.search(left) or _CHANGED.search(right[:40]) or _SO_FAR.search(left) or _SO_FAR.search(right[:60])
    )


def _statement(prose: str, clause: Clause, before: list[Clause], start: int, end: int) -> str:
    """The sentence that says it; of a long one, what leads to it."""
    first = max(clause.start, end - _STATEMENT)
    for earlier in reversed(before):
        if end - earlier.start > _STATEMENT:
            break
        first = earlier.start
    return " ".join(prose[first : min(clause.end, end + _STATEMENT // 3)].split()).strip(" ,;:-")


def _is_a_name(left: str, right: str, kind: str) -> bool:
    named = _NAMED.search(left[-24:])
    if (
        named
        and not _PRONOUN_END.search(left[-12:])
        and not (kind == "measure" and not named.group().strip().isalpha())
    ):
        return left.strip() != "" or named.group().strip() != ""
    return kind == "count" and _STATUS.match(right) is not None


def _is_goal(left: str, right: str, kind: str) -> bool:
    near = left[-80:]
    wants = None
    for wants in _WANTS.finditer(near):
        pass
    if wants is not None and (wants["verb"] is None or wants["verb"].lower() in _WANTED):
        return not wants.group().lower().startswith("managed")
    if kind == "date":
        return False
    return _BOUND.search(near) is not None


def _attribute(prose: str, clause: Clause, previous: Clause | None, match: re.Match[str], kind: str) -> str:
    left, right = _around(prose, clause, match)
    before = _before(left)
    if previous is not None and (_only_leads(left) or _PRONOUN.match(right.lstrip())):
        before = _before(_end_of(prose, previous)) or before
    if kind in ("count", "word"):
        counted = _counted(right)
        if counted:
            # What the number is of counts too, as in "the daily quota of 1,200 calls".
            named = f"{before} {counted}" if _OF_END.search(left) else f"{_verb(left)} {counted}"
            rate = _PER.match(right, right.find(counted) + len(counted))
            named += rate.group() if rate is not None else ""
        else:
            named = before if kind == "count" and _states_measure(left) else ""
            of = _NUMBER_OF.search(
                prose,
                max(previous.start if previous is not None else clause.start, match.start() - _NEAR),
                match.start(),
            )
            if named and of is not None:
                named = of.group() if of["what"].split()[-1].lower() not in _ENDS else of.group().rsplit(None, 1)[0]
    else:
        after = "" if _PRONOUN.match(right.lstrip()) else _after(right, kind)
        named = f"{before} {after}" if before or kind not in ("date", "clock") else ""
    return " ".join(named.split())


_VERB = re.compile(
    r"\b(?P<verb>[a-z]{2,}ed|read|wrote|written|bought|sold|made|built|won|lost|met|ran|run|took|got|sent|spent|gave|saw|seen|ate|paid|saved|"
    r"caught|drank|taught|have|has|had|own|need) (?:(?:about|around|only|just|over|nearly|another|those|these|the|my|our|all|up to) ){0,2}$",
    re.IGNORECASE,
)


def _verb(left: str) -> str:
    """What was done with what is counted, so that "read 5 books" is not "bought 5 books"."""
    found = _VERB.search(left, max(0, len(left) - 40))
    return found["verb"] if found is not None and found["verb"].lower() not in _ADVERBS else ""


_OF_END = re.compile(r"\bof (?:about |around |only )?$", re.IGNORECASE)
_MEASURES = re.compile(
    r"\b(?:is|are|was|were|has|have|reached|hit|to|at|of|now|around|about|only|totals?|stands|sits|up|down|over|nearly)\s$",
    re.IGNORECASE,
)


def _states_measure(left: str) -> bool:
    return _MEASURES.search(left) is not None


def _only_leads(left: str) -> bool:
    """Whether nothing before a number says what it is of: ", which has now reached"."""
    return all(word.group().lower() in _ADVERBS for word in _WORD.finditer(left))


def _before(left: str) -> str:
    """The noun phrase that ends before a number, without the words that only lead to it."""
    base = max(0, len(left) - 160)
    words = list(_WORD.finditer(left, base))
    while words and words[-1].group().lower() in _ADVERBS:
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
    while phrase and phrase[0].group().lower() in _LEAD | _PREPOSITIONS | _ADVERBS:
        phrase.pop(0)
    return left[phrase[0].start() : phrase[-1].end()] if phrase else ""


_OF_THE = re.compile(r"\s(?:out )?of (?:the|my|our|these|those|all) ", re.IGNORECASE)


def _counted(right: str) -> str:
    """The noun phrase that a number counts: words up to a plural, and what it is of."""
    of = _OF_THE.match(right)
    words = list(_WORD.finditer(right[:120], of.end() if of is not None else 0))
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
    rate = _PER.match(right)
    start = rate.end() if rate is not None else 0
    words = list(_WORD.finditer(right[:120], start))
    if not words or words[0].start() > start + 2:
        return ""
    first = words[0].group().lower()
    if first in _ENDS or (kind in ("date", "clock") and first not in ("for", "of", "on", "to")):
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
        if low not in _PREPOSITIONS and low not in _LEAD:
            end = word.end()
    return end


def _is_plural(word: str) -> bool:
    low = word.lower()
    return low in _PLURALS or (
        len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is")) and low not in _NOT_PLURAL
    )


_HAN_UNIT = "毫秒|秒|分钟|小时|个小时|天|周|个星期|个月|年|公里|千米|米|公斤|斤|千克|元|块钱|块|万元|万|岁|%|％"
_HAN_MEASURE = "次|个|本|篇|条|位|名|人|场|页|题|道|份|件|家|项|门|只|张|套|台|辆|步|集|部|首"
_HAN_NUMBER = r"(?:\d[\d,]{0,12}(?:\.\d{1,4})?|[一二两三四五六七八九十百千]{1,5})"
_HAN_QUANTITY = re.compile(
    rf"(?P<date>(?:\d{{4}}年)?(?:\d{{1,2}}|[一二三四五六七八九十]{{1,2}})月(?:\d{{1,2}}|[一二三四五六七八九十]{{1,3}})[日号])"
    rf"|(?P<clock>(?:上午|下午|晚上|早上)?\d{{1,2}}点(?:半|\d{{1,2}}分)?)"
    rf"|(?P<measure>{_HAN_NUMBER}\s?(?:{_HAN_UNIT}))"
    rf"|(?P<count>{_HAN_NUMBER}(?P<class>{_HAN_MEASURE}))"
)
_HAS_HAN = re.compile(f"[{HAN}]")
_HAN_LINK = re.compile(
    r"(?:现在|目前|已经|最近|刚刚|刚|已|只|大约|大概|约|差不多|一共|总共|共|又|都|就|我们|我|还)*"
    r"(?:(?P<changed>提高|提升|增加|增长|上升|涨|降|下降|降低|减少|缩短|延长|改|推迟|提前|调整|更新|达|变|升|延期|换)(?:到了?|至|为|成了?|了)?"
    r"|达到了?|到了?|为|是|有|花了?|用了?|要|等于|完成了?|提交了?|[\u4e00-\u9fff]{1,2}[了过])?(?:大约|大概|约|差不多|已经)?\s*$"
)
_HAN_ADVERB = re.compile("现在|目前|已经|最近|刚刚|一共|总共|大约|大概|[刚已只约共又都就还我们]")
_HAN_ACT = re.compile(rf"([{HAN}]{{1,2}})[了过]\\s*$")
_HAN_CHANGED = re.compile(
    "现在|目前|最近|如今|已经|新的?|改|提高|提升|增加|增长|降|减少|缩短|延长|推迟|提前|达到|涨|不再|一共|总共|升到"
)
_HAN_GOAL = re.compile("想|希望|目标|打算|计划|争取|要在|准备|至少|不超过|以内|必须")
_HAN_PHRASE = re.compile(rf"[{HAN}A-Za-z0-9]{{1,12}}$")
_HAN_NOUN = re.compile(rf"[的]?[{HAN}]{{1,6}}")
_HAN_LEAD = re.compile(
    "^(?:到|每(?=年$)|我们的|我的|我们|我|你|他|她|它|把|将|的|从|但|不过|现在|目前|最近|已经|而且|因为|所以)+"
)
_HAN_TAIL = re.compile("[了吧啊呢的]+$")


def _han_claims(prose: str, clause: Clause) -> Iterator[Claim]:
    if clause.mood is not Mood.STATES or _HAS_HAN.search(prose, clause.start, clause.end) is None:
        return
    for match in islice(_HAN_QUANTITY.finditer(prose, clause.start, clause.end), MAX_CLAIMS):
        left, right = _around(prose, clause, match)
        if not re.search(f"[{HAN}]", left) or right.startswith(("到", "至", "-", "~", "之")):
            continue
        who = _HAN_SUBJECT.match(left)
        if who is not None and not who["who"]:
            continue
        link = _HAN_LINK.search(left[-24:])
        rest = left[: len(left) - len(link.group())] if link else left
        verb = link.group() if link else ""
        changed = _HAN_CHANGED.search(left) is not None
        if not (clause.own or changed):
            continue
        topic = _HAN_PHRASE.search(_HAN_TAIL.sub("", rest.strip()))
        phrase = _HAN_LEAD.sub("", topic.group()) if topic else ""
        noun = _HAN_NOUN.match(right.strip()) if match["count"] else None
        counted = _HAN_TAIL.sub("", noun.group().lstrip("的")) if noun else ""
        act = _HAN_ACT.search(_HAN_ADVERB.sub("", verb)) if match["count"] else None
        attribute = f"{phrase}{act.group(1) if act else ''}{counted}".strip()
        if not attribute:
            continue
        if _HAN_GOAL.search(left):
            attribute = GOAL_ZH + attribute
        yield Claim(
            Kind.FACT,
            attribute,
            match.group().strip(),
            " ".join(prose[max(clause.start, match.start() - 120) : min(clause.end, match.end() + 80)].split()),
            Span(match.start(), match.end()),
            subject=f"我{who['who']}" if who is not None and who["who"] else "",
            manner=Manner.CHANGED if changed else Manner.STATED,
            confidence=0.85,
        )


def same_amount(a: str, b: str) -> bool:
    """Whether two values state the same amount: "1,200" and "1200 calls", "0.25 s" and "250ms"."""
    one, other = amount_of(a), amount_of(b)
    if one is None or other is None:
        return a.strip().casefold() == b.strip().casefold()
    return (
        one.dimension == other.dimension
        and abs(one.size - other.size) < 1e-9 * max(1.0, abs(one.size))
        and one.of == other.of
    )
