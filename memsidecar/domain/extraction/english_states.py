"""English rules for what somebody is ("I'm a nurse", "my brother is 30") and who is somebody's what."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_clauses import Head
from memsidecar.domain.extraction.english_facts import FACTS
from memsidecar.domain.extraction.english_places import find_time, place, value
from memsidecar.domain.extraction.english_work import trade
from memsidecar.domain.extraction.letters import BIG
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.values import cut, items, trimmed
from memsidecar.domain.names import COMMON

_NAME = rf"[{BIG}][\w'-]*[\w](?:\s(?:van|von|de|la|el|bin)\b)?(?:\s[{BIG}][\w'.-]*\w?){{0,3}}"
_IS_NAME = re.compile(
    rf"\s+(?:(?:is|are|was|'s)\s+)?(?:called|named)\s+(?P<called>{_NAME})|\s*(?:is"
    rf"|'s)\s+(?P<is>(?:(?:Mr|Mrs|Ms|Dr|Prof)\.\s)?{_NAME})(?=\s*$|\s*[,.!]|\s+and\s)"
)
_AGE = re.compile(
    r"\s*(?P<age>\d{1,3})(?:[\s-]years?[\s-]old|[\s-]y/?o\b)?(?=\s*$|\s*[,.!)]|\s+(?:and|but|now|last"
    r"|this|today|yesterday|in|years|on|not)\b)(?:\syears?\sold)?"
)
_NOT_AGE = re.compile(
    r"\s*\d{1,3}\s*(?:%|percent|minutes|hours|days|weeks|months|km|miles|points|steps|pages"
    r"|years\s(?:into|in|away|behind|of|sober|clean))",
    re.IGNORECASE,
)
_HEIGHT = re.compile(
    r"\s*(?P<height>\d(?:\.\d+)?\s?m|\d{3}\s?cm|\d'\s?\d{1,2}\"?|\d\s?(?:feet|foot"
    r"|ft)(?:\s\d{1,2}(?:\sinches)?)?)\s+tall\b"
)
_ARTICLE = re.compile(r"\s*(?:an?|the)\s+")
_NOUN_END = re.compile(
    r"\s(?:at|in|from|for|with|who|that|which|working|living|based|and|by|of|on|specializing"
    r"|specialising|trying|looking|studying|here|now|currently)\b"
)
_YEAR_OLD = re.compile(r"(?P<age>\d{1,3})[- ]year[- ]old\s*")
_APPOSED = re.compile(r",\s+an?\s+")
_BASED = re.compile(rf"\b(?:based|living|residing)\s+in\s+(?=[{BIG}])")
_FROM = re.compile(rf"\bfrom\s+(?=[{BIG}])")
_EMPLOYER = re.compile(rf"\s(?:at|for|with)\s+(?=[{BIG}])")
_ALLERGIC = re.compile(r"\s+to\s+")
_ANY_MORE = re.compile(r"\bany\s?more\b|\bno\slonger\b")
_ENGAGED = re.compile(
    rf"\s+to\s+(?:my\s+[a-z]+,?\s+)?(?P<name>[{BIG}][\w'-]+)(?=\s*$|\s*[,.!]|\s+(?:and|since|for|in|last)\b)"
)
_ZONE = re.compile(
    r"\s*(?:in"
    r"|on)\s+(?:the\s+)?(?P<zone>[A-Z][A-Za-z/_+:\-0-9]{1,30}(?:\s[A-Z][a-z]+)?)\s+time(?:\s?zone)?\b"
    r"|\s*in\s+(?P<utc>(?:UTC|GMT)\s?[+-]\s?\d{1,2}(?::\d\d)?)"
)
_NOT_AFTER_BE = frozenset(
    "sure sorry back done ready late sick tired fine good ok okay happy glad afraid here there home".split()
)
_PLAIN_END = re.compile(
    r"\s*(?:$|[,.!;]|(?:and|but|so|now|since|for|who|which|with|because|by|at|in|from|as|too|these"
    r"|based|last|this|again|currently|yet|any\s?more)\b)"
)
_STATUS_IS_OTHER = re.compile(r"\s+(?:in|by|with|from|parent|mom|mum|dad|mother|father|file|page|point)\b")
# "married to my work", "divorced from reality"
_TO_NO_ONE = re.compile(
    r"\s+(?:to|from)\s+(?!(?:[A-Z]|an?\s|my\s(?:wife|husband|partner|ex|high|college|best|first|now"
    r"|boyfriend|girlfriend)))"
)
_DIET_NOUN = re.compile(
    r"\s*(?:an?\s+)?(?:strict\s+|mostly\s+|recently\s+|proud\s+|lifelong\s+|total\s+"
    r"|committed\s+)?(?P<diet>[a-z]+(?:-[a-z]+)?)"
)
_DIET = re.compile(
    r"\s+(?:an?\s+|my\s+)?(?:very\s+)?(?:strict\s+"
    r"|strictly\s+)?(?P<diet>[a-z-]+(?:[,\s]+(?:and\s+)?[a-z]+-free){0,3})\s+(?:diet|lifestyle)\b",
    re.IGNORECASE,
)


def is_something(reading: Reading, head: Head) -> None:
    """What stands after a form of "be": age, trade, nationality, name and the like."""
    if head.modal or head.used or (head.past and head.be in ("was", "were")):
        return
    text, at, end = reading.text, head.verb_at, head.end
    if _zone(reading, head) or _age(reading, head):
        return
    if found := _HEIGHT.match(text, at, end):
        reading.add("height", Span(*found.span("height")), subject=head.subject, manner=head.manner)
        return
    word = head.verb
    if word == "allergic":
        _allergy(reading, head)
    elif word in words.STATUSES:
        _status(reading, head, at)
    elif word in words.NATIONALITIES and text[at].isupper() and _PLAIN_END.match(text, head.after, end):
        reading.add("nationality", Span(at, head.after), subject=head.subject, negated=head.negated, manner=head.manner)
    elif (
        (diet := _DIET_NOUN.match(text, at, end))
        and diet.group("diet") in words.DIETS
        and _PLAIN_END.match(text, diet.end(), end)
    ):
        _diet(reading, head, Span(*diet.span("diet")))
    elif found := _ARTICLE.match(text, at, end):
        _noun(reading, head, found.end())
    elif word in ("unemployed", "retired", "self-employed", "jobless"):
        reading.add("job", Span(at, head.after), subject=head.subject, negated=head.negated, manner=head.manner)
    elif word in (
        "pregnant",
        "diabetic",
        "asthmatic",
        "epileptic",
        "autistic",
        "deaf",
        "blind",
        "colorblind",
        "lactose",
        "dyslexic",
        "bipolar",
    ):
        stop = head.after + len(" intolerant") if word == "lactose" else head.after
        reading.add("health", Span(at, min(stop, end)), subject=head.subject, negated=head.negated, manner=head.manner)
    elif not head.relation and word not in _NOT_AFTER_BE and not head.negated:
        _introduces(reading, head)
    elif head.relation and not head.negated and trade(text[at : cut(text, at, end)]):
        _trade(reading, head, at)


def _zone(reading: Reading, head: Head) -> bool:
    found = _ZONE.match(reading.text, head.verb_at, head.end)
    if found is not None:
        reading.add(
            "timezone",
            Span(*found.span("zone" if found.group("zone") else "utc")),
            subject=head.subject,
            manner=head.manner,
        )
    return found is not None


def _age(reading: Reading, head: Head) -> bool:
    text = reading.text
    found = _AGE.match(text, head.verb_at, head.end)
    if found is None or _NOT_AGE.match(text, head.verb_at, head.end) or not 0 < int(found.group("age")) < 125:
        return False
    if head.negated or head.plural:
        return True
    find_time(reading, head)
    reading.add("age", Span(*found.span("age")), subject=head.subject, manner=head.manner)
    return True


def turned(reading: Reading, head: Head) -> None:
    """ "turned 30", "am turning 30"."""
    found = _AGE.match(reading.text, head.after, head.end)
    if found is not None and not head.negated and not head.modal and head.verb == "turned":
        find_time(reading, head)
        reading.add("age", Span(*found.span("age")), subject=head.subject, manner=Manner.CHANGED, since=True)


def _allergy(reading: Reading, head: Head) -> None:
    found = _ALLERGIC.match(reading.text, head.after, head.end)
    if found is None or (span := value(reading, found.end(), head, commas=False)) is None:
        return
    manner = Manner.CHANGED if head.negated and _ANY_MORE.search(reading.text, head.start, head.end) else head.manner
    for part in items(reading.text, span):
        reading.add("allergic_to", part, subject=head.subject, negated=head.negated, manner=manner)


def _status(reading: Reading, head: Head, at: int, *, changed: bool = False) -> None:
    after = at + len(head.verb)
    other = _STATUS_IS_OTHER.match(reading.text, after, head.end) and not _ENGAGED.match(reading.text, after, head.end)
    # "engaged in a debate", "a single mom"; but "married with two kids" and "married in 2010" are.
    if (
        head.plural
        or _TO_NO_ONE.match(reading.text, after, head.end)
        or (other and head.verb not in ("married", "divorced"))
    ):
        return
    find_time(reading, head)
    manner = Manner.CHANGED if changed or _ANY_MORE.search(reading.text, head.start, head.end) else head.manner
    span = Span(at, after)
    reading.add("relationship_status", span, subject=head.subject, negated=head.negated, manner=manner, since=changed)
    if (
        (found := _ENGAGED.match(reading.text, after, head.end))
        and not head.negated
        and head.verb in ("engaged", "married")
    ):
        reading.add(
            "partner" if head.verb == "engaged" else "spouse",
            Span(*found.span("name")),
            subject=head.subject,
            entity_type="person",
        )


_NEXT_WORD = re.compile(r"\s+(?P<word>[a-z]+)")


def got(reading: Reading, head: Head) -> None:
    """ "got married", "got promoted", "got a new job", "got a dog"."""
    text = reading.text
    following = _NEXT_WORD.match(text, head.after, head.end)
    if following is None or head.modal or head.negated:
        return
    word = following.group("word")
    if word in words.STATUSES:
        head.verb = word
        _status(reading, head, following.start("word"), changed=True)
    elif word in ("promoted", "diagnosed", "laid", "fired"):
        head.verb, head.after = word, following.end()
        FACTS[word](reading, head)
    else:
        FACTS["started"](reading, head)
        if not reading.claims or reading.claims[-1].span != Span(reading.start, reading.end):
            FACTS["bought"](reading, head)


def _diet(reading: Reading, head: Head, span: Span, *, changed: bool = False) -> None:
    negated = head.negated
    find_time(reading, head)
    manner = (
        Manner.CHANGED if changed or (negated and _ANY_MORE.search(reading.text, head.start, head.end)) else head.manner
    )
    reading.add("diet", span, subject=head.subject, negated=negated, manner=manner)


def became(reading: Reading, head: Head) -> None:
    """ "became a vegetarian", "went vegan", "follow a keto diet"."""
    text = reading.text
    if head.modal or head.negated:
        return
    found = _DIET_NOUN.match(text, head.after, head.end)
    if found is not None and found.group("diet") in words.DIETS:
        _diet(reading, head, Span(*found.span("diet")), changed=True)
    elif (found := _ARTICLE.match(text, head.after, head.end)) and head.verb in ("became", "become"):
        find_time(reading, head)
        what = value(reading, found.end(), head)
        if what is not None and trade(text[what.start : what.end]):
            reading.add("job", what, subject=head.subject, manner=Manner.CHANGED, since=True)


def follows(reading: Reading, head: Head) -> None:
    """ "follow a strict keto diet", "eat a plant-based diet", "am on a keto diet"."""
    if head.modal or head.used or (found := _DIET.match(reading.text, head.after, head.end)) is None:
        return
    if found.group("diet").lower() not in ("healthy", "balanced", "the", "good", "special", "new", "proper", "better"):
        _diet(reading, head, Span(*found.span("diet")))


def _noun(reading: Reading, head: Head, at: int) -> None:
    text = reading.text
    end = cut(text, at, head.end)
    stop = _NOUN_END.search(text, at, end)
    noun = trimmed(text, at, stop.start() if stop else end)
    if noun is None:
        return
    if aged := _YEAR_OLD.match(text, noun.start, noun.end):
        if not head.negated and not head.plural:
            reading.add("age", Span(*aged.span("age")), subject=head.subject, manner=head.manner)
        noun = Span(aged.end(), noun.end) if aged.end() < noun.end else noun
    parts = re.findall(r"[a-z]+(?:-[a-z]+)*", text[noun.start : noun.end].lower())
    if not parts or len(parts) > 6:
        return
    last = parts[-1]
    if last in words.DIETS:
        _diet(reading, head, Span(noun.end - len(last), noun.end))
    elif last in words.STUDENTS:
        _student(reading, head, noun)
    elif trade(text[noun.start : noun.end]) or last in ("ceo", "cto"):
        _trade(reading, head, noun.start)
    elif head.relation and not head.names:
        return
    if (found := _FROM.search(text, noun.end, head.end)) and not head.negated and trade(text[noun.start : noun.end]):
        where = place(reading, found.end(), head)
        if where is not None:
            reading.add("from", where, subject=head.subject, manner=head.manner, entity_type="place")


def _trade(reading: Reading, head: Head, at: int) -> None:
    text = reading.text
    stop = _NOUN_END.search(text, at, cut(text, at, head.end))
    what = trimmed(text, at, stop.start() if stop else cut(text, at, head.end))
    if what is None:
        return
    manner = Manner.CHANGED if head.negated and _ANY_MORE.search(text, head.start, head.end) else head.manner
    if head.negated and manner is Manner.STATED:
        # "I'm not a doctor, but ..." is no news.
        return
    reading.add("job", what, subject=head.subject, negated=head.negated, manner=manner)
    if (found := _EMPLOYER.match(text, what.end, head.end)) and (whom := value(reading, found.end(), head)) is not None:
        reading.add(
            "employer", whom, subject=head.subject, negated=head.negated, manner=manner, entity_type="organisation"
        )


_AT_SCHOOL = re.compile(rf"\s+(?:at|of)\s+(?=(?:the\s)?[{BIG}])")
_IN_SUBJECT = re.compile(r"\s+(?:in|of)\s+(?=[a-z])")
_SUBJECT_END = re.compile(r"\s(?:at|from|in)\s")


def _student(reading: Reading, head: Head, noun: Span) -> None:
    text = reading.text
    if found := _AT_SCHOOL.match(text, noun.end, head.end):
        where = value(reading, found.end(), head)
        if where is not None:
            reading.add(
                "school",
                where,
                subject=head.subject,
                negated=head.negated,
                manner=head.manner,
                entity_type="organisation",
            )
    if found := _IN_SUBJECT.match(text, noun.end, head.end):
        stop = _SUBJECT_END.search(text, found.end(), head.end)
        what = trimmed(text, found.end(), stop.start() if stop else cut(text, found.end(), head.end))
        if what is not None:
            reading.add("studies", what, subject=head.subject, negated=head.negated, manner=head.manner)


_NAMED = re.compile(rf"(?P<name>{_NAME})(?=\s*$|\s*[,.!]|\s+(?:and|from|by)\s)")


def _introduces(reading: Reading, head: Head) -> None:
    """ "I'm Tom" at the beginning, where one says who one is."""
    text = reading.text
    found = _NAMED.match(text, head.verb_at, head.end)
    if (
        found is None
        or not text[head.start : head.verb_at].lower().rstrip().endswith(("'m", "am", "im"))
        or head.start > 120
    ):
        return
    name = found.group("name")
    if (
        len(head.words) != 1
        or name in COMMON
        or name.split()[0].lower() in words.NATIONALITIES | words.LANGUAGES
        or (name.isupper() and len(name) > 3)
    ):
        return
    if not re.match(
        r"\W*(?:(?:hi|hey|hello|good\s\w+|so|well|greetings|welcome)\b[^.!?]{0,40}[.!?,]?\s*)*$",
        text[: head.start],
        re.IGNORECASE,
    ):
        return
    reading.add("name", Span(*found.span("name")), manner=head.manner, entity_type="person")
    # "I'm Craig, a developer from Leeds"
    if apposed := _APPOSED.match(text, found.end(), head.end):
        _noun(reading, head, apposed.end())
    if based := _BASED.search(text, found.end(), head.end):
        where = place(reading, based.end(), head)
        if where is not None:
            reading.add("lives_in", where, entity_type="place")


def relates(reading: Reading, head: Head) -> None:
    """Who is somebody's what: "my sister Anna", "my wife's name is Clara", "my boss is Mr. Keller"."""
    if head.plural or not head.relation or head.modal:
        return
    if head.name is not None:
        reading.add(
            head.relation,
            head.name,
            manner=head.manner,
            timed=False,
            entity_type="person" if head.relation != "pet" else "",
        )
        return
    own = head.relation_span
    if own is None or head.negated or head.past:
        return
    start = own.end + len("'s name") if head.names else own.end
    found = _IS_NAME.match(reading.text, start, head.end)
    if found is None:
        return
    name = found.group("called") or found.group("is")
    if name in COMMON or name.split()[0].lower() in words.NATIONALITIES | words.LANGUAGES:
        return
    span = Span(*found.span("called" if found.group("called") else "is"))
    reading.add(
        head.relation, span, manner=head.manner, timed=False, entity_type="person" if head.relation != "pet" else ""
    )
