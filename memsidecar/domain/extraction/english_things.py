"""English rules for what somebody has: people by number, animals, illnesses, things, what he avoids eating."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_clauses import Head
from memsidecar.domain.extraction.english_places import CAPITAL, find_time, no_more, value
from memsidecar.domain.extraction.english_work import trade
from memsidecar.domain.extraction.letters import BIG
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.values import cut, items, trimmed

_PLAYS = re.compile(
    r"\s+(?:the\s+)?(?P<what>violin|guitar|piano|drums|bass|cello|flute|saxophone|trumpet|ukulele"
    r"|clarinet|harp|keyboard|chess|tennis|soccer|football|basketball|volleyball|golf|hockey"
    r"|badminton|baseball|cricket|rugby|squash|table\stennis|ping\spong|poker|dungeons\sand\sdragons|d&d)\b",
    re.IGNORECASE,
)


def plays(reading: Reading, head: Head) -> None:
    """Of "play": instruments and sports."""
    found = _PLAYS.match(reading.text, head.after, head.end)
    if found is not None and not head.modal and not head.subject and not head.past and not head.be:
        manner = Manner.CHANGED if head.used else head.manner
        polarity = -0.4 if head.used or head.negated else 0.6
        reading.add("hobby", Span(*found.span("what")), polarity=polarity, manner=manner)


_RUNS = re.compile(
    r"\s+(?:an?|my\sown|our\sown)\s+(?P<what>(?:[a-z-]+\s){0,3}(?:bakery|shop|store|restaurant"
    r"|business|company|startup|cafe|café|studio|agency|farm|blog|podcast|channel|newsletter|salon|gym"
    r"|clinic|bar))\b"
)


def runs(reading: Reading, head: Head) -> None:
    """Of "run" and "drive": a business, a car."""
    found = (
        _RUNS.match(reading.text, head.after, head.end)
        if head.verb == "run"
        else _DRIVES.match(reading.text, head.after, head.end)
    )
    if found is not None and not head.modal and not head.subject and not head.past and not head.negated:
        gone = head.used
        reading.add("owns", Span(*found.span("what")), negated=gone, manner=Manner.CHANGED if gone else head.manner)


_DRIVES = re.compile(
    r"\s+(?:an?\s+)(?P<what>(?:(?:\d{4}|red|blue|white|black|old|used|new|silver|grey|gray"
    r"|green)\s)*[A-Z][\w-]+(?:\s[A-Z0-9][\w-]*)?)"
)

_WEIGHS = re.compile(
    r"\s+(?:about\s|around\s)?(?P<what>\d{2,3}(?:\.\d+)?\s?(?:kg|kilos?|kilograms|pounds|lbs?|stone))\b"
)


def weighs(reading: Reading, head: Head) -> None:
    """Of "weigh"."""
    found = _WEIGHS.match(reading.text, head.after, head.end)
    if found is not None and not head.modal and not head.used:
        reading.add("weight", Span(*found.span("what")), subject=head.subject, manner=head.manner)


def died(reading: Reading, head: Head) -> None:
    """Of a pet or somebody near who "died" or "passed away"."""
    if head.relation and head.relation != "pet" and not head.negated and not head.modal and not head.plural:
        if head.verb == "died" or reading.text.startswith(" away", head.after):
            find_time(reading, head)
            end = head.after if head.verb == "died" else head.after + len(" away")
            reading.add("event", Span(head.verb_at, end), subject=head.subject)
        return
    if head.relation == "pet" and not head.negated and not head.modal and head.relation_span is not None:
        find_time(reading, head)
        span = head.name or trimmed(reading.text, head.relation_span.start, head.relation_span.end)
        if span is not None:
            reading.claims[:] = [claim for claim in reading.claims if claim.span != Span(reading.start, reading.end)]
            reading.add("pet", span, negated=True, manner=Manner.CHANGED, since=True)


_ALLERGY = re.compile(
    r"\s+(?:an?\s+)?(?:(?:severe|bad|mild|serious|strong|life-threatening"
    r"|slight)\s+)?(?:(?P<to>[a-z][a-z-]*(?:\s(?:and|or|&)\s[a-z-]+|\s[a-z-]+)?)\s+)?allerg(?:y|ies)"
    r"(?:\s+to\s+(?P<of>[a-z][^.;]{1,60}))?"
)


_COUNTED = re.compile(
    r"\s+(?:got\s+)?(?P<many>an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}|no|my\sown"
    r"|some|several|bad|severe|chronic|mild|type)\s+(?P<noun>[^,.;:!?]{2,60})"
)
_ALONE = re.compile(r"\s+(?:got\s+)?(?:type\s[12]\s)?(?P<noun>[A-Za-z-]+)(?=\s*$|\s*,|\s+(?:and|since|so|but)\b)")
_CALLED = re.compile(
    r",?\s+(?:(?:who\sis|who's|that\sis|that's|is)\s+)?(?:named"
    rf"|called)\s+(?P<name>[{BIG}][\w'-]+(?:\s[{BIG}][\w'-]+)?)(?=\s*$|[\s,.])"
)
_NOUN_END = re.compile(r"\s(?:of|in|at|on|from|about|to|under|around|and|or|near|called|named|going|coming)\b")


def has(reading: Reading, head: Head) -> None:
    """Of "have": people, animals, illnesses and things that one has for long, by the noun."""
    if head.modal or head.past:
        return
    text = reading.text
    if allergy := _ALLERGY.match(text, head.after, head.end):
        group = "of" if allergy.group("of") else "to"
        if allergy.group(group) and allergy.group(group) not in ("any", "food", "no", "many", "seasonal"):
            span = trimmed(
                text, allergy.start(group), cut(text, allergy.start(group), allergy.end(group), commas=False)
            )
            for part in items(text, span) if span is not None else ():
                reading.add("allergic_to", part, subject=head.subject, negated=head.negated, manner=head.manner)
        return
    end = cut(text, head.after, head.end)
    found = _COUNTED.match(text, head.after, end)
    if found is None:
        alone = _ALONE.match(text, head.after, head.end)
        if alone is not None and alone.group("noun").lower() in words.CONDITIONS:
            reading.add(
                "health",
                Span(alone.start("noun"), alone.end("noun")),
                subject=head.subject,
                negated=head.negated,
                manner=head.manner,
            )
        return
    many = found.group("many").lower()
    named = _CALLED.search(text, found.start("noun"), head.end)
    noun_end = min(found.end("noun"), named.start() if named else end)
    stop = _NOUN_END.search(text, found.start("noun"), noun_end)
    noun = Span(found.start("noun"), stop.start() if stop else noun_end)
    parts = re.findall(r"[a-z]+(?:-[a-z]+)*", text[noun.start : noun.end].lower())
    if not parts or len(parts) > 4:
        return
    last, single = parts[-1], parts[-1].rstrip("s")
    negated = head.negated or many == "no"
    whole = Span(found.start("many") if many not in ("a", "an", "no") else noun.start, noun.end)
    if last in words.CHILDREN and many not in ("a", "an", "no"):
        reading.add("children", Span(*found.span("many")), subject=head.subject, negated=negated, manner=head.manner)
    elif (relation := words.RELATIONS.get(last) or words.RELATIONS.get(single)) and relation != "pet":
        if relation in ("boss", "teacher", "doctor", "colleague", "neighbour", "friend", "partner") and named is None:
            return
        span = Span(*named.span("name")) if named else whole
        reading.add(relation, span, subject=head.subject, negated=negated, manner=head.manner, entity_type="person")
    elif last in words.PETS or single in words.PETS:
        span = Span(*named.span("name")) if named else whole
        reading.add("pet", span, subject=head.subject, negated=negated, manner=head.manner)
    elif last in words.CONDITIONS:
        reading.add(
            "health",
            Span(found.start("many") if many in ("bad", "severe", "chronic", "mild", "type") else noun.start, noun.end),
            subject=head.subject,
            negated=negated,
            manner=head.manner,
        )
    elif last in words.POSSESSIONS and not head.subject:
        reading.add("owns", whole, negated=negated, manner=head.manner)


def _is_bought(reading: Reading, head: Head, what: Span) -> bool:
    """Whether a thing that was bought has a name: "a MacBook", not "a coffee"."""
    return head.verb in ("bought", "purchased") and CAPITAL.search(reading.text, what.start, what.end) is not None


_OWNED = re.compile(
    r"\s+(?:an?|two|three|\d+|our\sfirst|my\sfirst|(?:my|our|the)(?=\s[a-z-]+\s*$)|my\s(?:old|car|house|bike))\s?"
)


def owns(reading: Reading, head: Head) -> None:
    """Of "own", "bought", "sold", "adopted"."""
    if head.modal or head.subject or (head.be and head.verb != "own"):
        return
    find_time(reading, head)
    what = value(reading, head.after, head)
    if what is None or not _OWNED.match(reading.text, head.after, head.end):
        return
    if head.verb == "own" and reading.text.startswith((" my ", " our "), head.after):
        return
    parts = re.findall(r"[a-z]+(?:-[a-z]+)*", reading.text[what.start : what.end].lower())
    if not parts or len(parts) > 6 or re.search(r"\b(?:lot|bit|few|ticket|tickets|some)\b", " ".join(parts)):
        return
    last = parts[-1]
    if head.verb == "got" and last not in words.POSSESSIONS | words.PETS:
        return
    if last in words.PETS or last.rstrip("s") in words.PETS:
        if not head.negated and head.verb in ("adopted", "bought", "own", "got", "rescued"):
            reading.add("pet", what, manner=head.manner)
    elif head.verb == "sold":
        reading.add("owns", what, negated=True, manner=Manner.CHANGED, since=True)
    elif last in words.POSSESSIONS or head.verb == "own" or _is_bought(reading, head, what):
        manner = Manner.CHANGED if head.used else head.manner
        reading.add("owns", what, negated=head.negated or head.used, manner=manner)


_MINE_TO = re.compile(r"\s+(?:my\s+)(?P<what>[a-z]+(?:\s[a-z]+)?)\s+to\s+")
_FROM_TO = re.compile(rf"\s+(?:over\s+)?(?:from\s+[^,.]{{2,40}}?\s+)?to\s+(?=(?:an?\s)?i?[{BIG}])")


def switched(reading: Reading, head: Head) -> None:
    if head.modal or head.negated or head.subject:
        return
    text = reading.text
    found = _MINE_TO.match(text, head.after, head.end)
    find_time(reading, head)
    if found is not None:
        if (new := value(reading, found.end(), head)) is not None:
            what = found.group("what")
            attribute = words.MINE.get(what)
            if attribute == "job" and not trade(text[new.start : new.end]):
                return
            reading.add(attribute or f"uses:{what}", new, manner=Manner.CHANGED, since=True)
        return
    found = _FROM_TO.match(text, head.after, head.end)
    if found is not None and (new := value(reading, found.end(), head)) is not None:
        reading.add("uses", new, manner=Manner.CHANGED, since=True)


_WITH = re.compile(r"\s+(?:as\s|with\s|from\s)")


def diagnosed(reading: Reading, head: Head) -> None:
    found = _WITH.match(reading.text, head.after, head.end)
    if found is None or head.modal or head.negated:
        return
    find_time(reading, head)
    if (what := value(reading, found.end(), head)) is not None:
        first = reading.text[what.start : what.end].split()[0].lower()
        if first not in ("it", "this", "that", "these", "the", "lack", "burnout"):
            reading.add("health", what, subject=head.subject, manner=head.manner, since=head.verb == "diagnosed")


_OFTEN = re.compile(r"\b(?:every|each)\s|\b(?:often|daily|regularly)$")


def eats(reading: Reading, head: Head) -> None:
    """Of "don't eat", "don't drink": what is avoided."""
    if (
        not head.negated
        or head.modal
        or head.subject
        or head.past
        or "didn't" in head.words
        or "haven't" in head.words
        or "can" in head.words
    ):
        return
    span = value(reading, head.after, head, commas=False)
    if span is None or re.match(
        r"(?:much|enough|well|that|this|it|them|out|too|any(?:thing|more)?\b|a\slot|at\b|in\b)",
        reading.text[span.start : span.end],
    ):
        return
    manner = Manner.CHANGED if no_more(reading, head) else head.manner
    if _OFTEN.search(reading.text, span.start, span.end):
        # "not every morning" is some mornings.
        return
    for part in items(reading.text, span):
        reading.add("likes", part, polarity=-0.8, manner=manner)
