"""English rules for "my X is Y": favourites, names, addresses."""

from __future__ import annotations

import re

from memsidecar.domain.attributes import qualifier_of
from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_places import named_date
from memsidecar.domain.extraction.english_work import trade
from memsidecar.domain.extraction.letters import BEGINS_NAME
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.values import cut, items, trimmed

_MINE = re.compile(
    r"(?:my|our|(?:the\s)?user's)\s(?P<of>(?:(?:all-time|current|new|work|home|personal|full|first|last|native"
    r"|preferred|mobile|cell)\s)*[a-zA-Z'-]+(?:\s[a-zA-Z-]+){0,3}?)(?:\s(?P<not>no\slonger))?"
    r"\s?(?P<be>is|are|'s|has\sbecome|changed\sto|has\schanged\sto)\s(?P<now>(?:now|currently|still|actually)\s)?",
    re.IGNORECASE,
)

_FAVOURITE = re.compile(
    r"(?:my|our|(?:the\s)?user's)\s(?P<new>new\s|current\s)?(?:all[- ]time\s|absolute\s|personal\s)?(?:favou?rite"
    r"|fave)\s(?P<of>[a-z][\w'/-]*(?:\s(?!is\b|are\b)[\w'/-]+){0,3}?)(?:\s(?:to\s\w+|of\sall\stime"
    r"|ever))?(?P<be>\s(?:is|are|has\sto\sbe|would\sbe|has\sbecome)|'s)\s"
    r"(?P<now>(?:now|currently|definitely|probably|still|actually|by\sfar)\s)*",
    re.IGNORECASE,
)

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")

_PHONE = re.compile(r"\+?\d[\d\s().-]{5,20}\d")

_CALL_ME = re.compile(
    r"(?:(?:(?:please|you\scan|just|but|everyone\scan"
    r"|friends\scan)\s)*call\sme\s"
    r"|i\s(?:(?:usually|mostly|just|now)\s)?go\sby\s(?:the\sname\s(?:of\s)?)?"
    r"|i\s(?:prefer|like|want|would\slike)\sto\sbe\scalled\s"
    r"|(?:everyone|everybody|people|(?:my\s|all\smy\s)?(?:friends|colleagues|family))\s(?:(?:just|usually|all)\s)?"
    r"calls?\sme\s)"
    r"(?P<name>(?:(?:Dr|Prof|Mr|Mrs|Ms)\.?\s)?[A-ZÀ-Ý][\w'-]+(?:\s(?!from\b"
    r"|for\b)[A-ZÀ-Ý][\w'-]+)?)(?=\s*$|\s*[,.!]|\s(?:from\snow|for\sshort|instead)\b)",
    re.IGNORECASE,
)

_ARTICLE = re.compile(r"an?\s")

_REACH = re.compile(r"(?:you\scan\s)?(?:reach|email|contact|call|text)\sme\s(?:at|on|under)\s", re.IGNORECASE)

_IS_FAVOURITE = re.compile(
    r"(?P<what>[^,;]{2,60}?)\s(?:is|are|has\sbecome)\s(?P<now>now\s|currently\s)?(?:definitely\s"
    r"|still\s|by\sfar\s)?my\s(?P<new>new\s)?(?:all[- ]time\s|absolute\s)?favou?rite\s"
    r"(?P<of>[a-z][\w'-]*(?:\s[a-z][\w'-]*){0,2})$",
    re.IGNORECASE,
)

_WAS_FAVOURITE = re.compile(
    r"(?:my|our)\sfavou?rite\s(?P<of>[a-z][\w'-]*(?:\s(?!used\b)[\w'-]+){0,2})\s(?:used\sto\sbe"
    r"|was)\s(?P<what>[^,;]{2,60})",
    re.IGNORECASE,
)

_NOW_IT_IS = re.compile(r"\W*(?:but\s)?now\s(?:it's|it\sis|they're|i\sprefer)\s(?P<what>[^,;.!]{2,60})", re.IGNORECASE)

_BAD_KIND = frozenset("part thing way aspect one ones idea".split())


def reached(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    found = _REACH.match(reading.text, at, end)
    if found is None:
        return False
    for attribute, pattern in (("email", _EMAIL), ("phone", _PHONE)):
        if known := pattern.match(reading.text, found.end(), end):
            reading.add(attribute, Span(*known.span()), manner=manner)
            return True
    return False


def called(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    """What somebody wants to be called; the name stays what it is."""
    found = _CALL_ME.match(reading.text, at, end)
    if found is None or not found.group("name")[0].isupper():
        return False
    reading.add("preferred_name", Span(*found.span("name")), manner=manner, entity_type="person")
    return True


def _singular(of: str) -> str:
    if of.endswith("ies") and len(of) > 5 and not of.endswith("movies"):
        return of[:-3] + "y"
    return of[:-1] if of.endswith("s") and not of.endswith("ss") else of


def _was_favourite(reading: Reading, at: int, end: int) -> bool:
    text = reading.text
    found = _WAS_FAVOURITE.match(text, at, end)
    if found is None:
        return False
    attribute = f"favourite:{_singular(qualifier_of(found.group('of')))}"
    if (span := trimmed(text, *found.span("what"))) is not None:
        reading.add(attribute, span, polarity=-0.4, manner=Manner.CHANGED)
    if after := _NOW_IT_IS.match(text, end, reading.sentence.end):
        reading.end = after.end()
        if (span := trimmed(text, *after.span("what"))) is not None:
            reading.add(attribute, span, polarity=1.0, manner=Manner.CHANGED)
    return True


def favourite(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    text = reading.text
    if "avo" not in text[at:end]:
        return False
    if _was_favourite(reading, at, end):
        return True
    if found := _IS_FAVOURITE.match(text, at, end):
        what = trimmed(text, *found.span("what"))
        if what is not None and not re.match(
            r"(?:it|this|that|these|those|he|she|they|which|what|one|here)\b",
            text[what.start : what.end],
            re.IGNORECASE,
        ):
            changed = Manner.CHANGED if found.group("now") or found.group("new") else manner
            reading.add(f"favourite:{_singular(qualifier_of(found.group('of')))}", what, polarity=1.0, manner=changed)
        return True
    found = _FAVOURITE.match(text, at, end)
    if found is None:
        return False
    of = _singular(qualifier_of(found.group("of")))
    if of.split()[0] in _BAD_KIND or " to " in f" {of} ":
        return True
    span = trimmed(text, found.end(), cut(text, found.end(), end))
    if span is None or re.match(
        r"(?:when|how|that|the\sone|probably|to\s|it\b|this\b|these\b|those\b)", text[span.start : span.end]
    ):
        return True
    if (
        found.group("new")
        or (found.group("now") or "").startswith(("now", "currently"))
        or "become" in found.group("be")
    ):
        manner = Manner.CHANGED if manner is Manner.STATED else manner
    reading.add(f"favourite:{of}", span, polarity=1.0, manner=manner)
    return True


def mine(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    text = reading.text
    found = _MINE.match(text, at, end)
    if found is None:
        return False
    of = found.group("of").lower().removeprefix("new ").removeprefix("current ")
    attribute = words.MINE.get(of)
    if of in words.POSSESSIONS and _ARTICLE.match(text, found.end(), end):
        attribute = "owns"
    if attribute is None or re.match(r"not\b", text[found.end() : found.end() + 4]):
        return False
    if found.group("now") or "change" in found.group("be") or found.group("of").lower().startswith("new "):
        manner = Manner.CHANGED if manner is Manner.STATED else manner
    start = found.end()
    span: Span | None
    key = attribute.partition(":")[0]
    if key in ("email", "phone"):
        known = (_EMAIL if key == "email" else _PHONE).match(text, start, end)
        span = Span(*known.span()) if known else None
    elif attribute == "birthday":
        span = named_date(reading, start, end)
        span = span if span is not None and re.search(r"\d", text[span.start : span.end]) else None
    else:
        span = trimmed(text, start, cut(text, start, end))
    if span is None or not _fits(attribute, text[span.start : span.end], text[at:end]):
        return True
    for part in items(text, span) if attribute in ("speaks", "hobby") else [span]:
        reading.add(attribute, part, manner=manner, polarity=0.8 if attribute == "hobby" else 0.0)
    return True


def _fits(attribute: str, written: str, clause: str) -> bool:
    if attribute in ("name", "preferred_name", "from", "nationality", "employer", "lives_in"):
        return BEGINS_NAME.match(written) is not None or (clause.islower() and len(written.split()) <= 2)
    if attribute == "job":
        return trade(written)
    if attribute == "speaks":
        return written.split()[0].lower() in words.LANGUAGES
    if attribute in ("age", "height", "weight", "salary"):
        return any(character.isdigit() for character in written)
    return len(written.split()) <= 6
