"""English rules for what is when: dates, deadlines, plans, goals, events, what is done regularly; and "my X is Y"."""

from __future__ import annotations

import re

from memsidecar.domain.attributes import qualifier_of
from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_clauses import CORRECTS, LEAD, Head
from memsidecar.domain.extraction.english_facts import find_time, place, trade, value
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import english_time
from memsidecar.domain.extraction.values import cut, items, trimmed

_OWNER = r"(?:my|our|the|this)\s+"
_TO_DATE = r"(?:(?:has|have|had)\s(?:now\s)?(?:been\s)?|is\s(?:now\s)?|was\s|got\s|now\s|just\s)*(?:moved|postponed|rescheduled|pushed|changed|delayed|extended|shifted|brought)(?:\s(?:up|back|forward|out))?(?:\sagain)?\s(?:from\s[^,.]{2,30}?\s)?(?:to|until|till|for)\s+"
_IS_DATE = r"(?:is|are|will\sbe|'s)\s(?P<now>now\s|still\s|currently\s)?(?:scheduled\s|set\s|planned\s|booked\s|due\s|coming\sup\s)?(?:(?:on|at|for|by|in|until|to)\s)?"
_DEADLINE = re.compile(
    rf"(?:{_OWNER}|)(?P<before>(?:[a-z][\w'-]*\s){{0,3}}?)(?:deadline|due\sdate|submission\sdate|launch\sdate|release\sdate)\s(?:(?:for|of)\s(?:{_OWNER})?(?P<of>[\w'-]+(?:\s[\w'-]+){{0,3}}?)\s)?"
    rf"(?:(?P<moved>{_TO_DATE})|{_IS_DATE})(?P<date>.{{1,60}})",
    re.IGNORECASE,
)
_DUE = re.compile(
    rf"{_OWNER}(?P<of>[\w'-]+(?:\s[\w'-]+){{0,3}}?)\s(?:is|are)\sdue\s(?P<now>now\s)?(?:on|by|at|in)?\s*(?P<date>.{{1,60}})",
    re.IGNORECASE,
)
_DATE = re.compile(
    rf"{_OWNER}(?P<of>[\w'-]+(?:\s[\w'-]+){{0,4}}?)\s(?:(?P<moved>{_TO_DATE})|{_IS_DATE})(?P<date>.{{1,60}})",
    re.IGNORECASE,
)
_BEST = re.compile(
    r"(?:my|our)\s(?:new\s|current\s|latest\s|fastest\s)?(?P<of>(?:\d+\s?[km]\w*|half[ -]marathon|marathon|mile|[\w-]+)(?:\s(?:run|swim|race))?)\s(?:time|personal\sbest|pb|pr|record|best\stime)\s"
    r"(?:is|was|'s|improved\sto|dropped\sto|went\s(?:down|up)\sto|has\simproved\sto)\s(?P<now>now\s|currently\s|down\sto\s)*(?P<value>\d{1,3}:\d\d(?::\d\d)?|\d+(?:\.\d+)?\s?(?:minutes|seconds|hours|min|sec)(?:\s(?:and\s)?\d+\s?(?:minutes|seconds|sec))?)",
    re.IGNORECASE,
)
_GOAL = re.compile(
    r"(?:my|our)\s(?:main\s|biggest\s|new\s|long-term\s|ultimate\s|personal\s)?(?P<what>goal|dream|ambition|resolution)\s(?:is|was|'s)\s(?:now\s)?to\s",
    re.IGNORECASE,
)
_MINE = re.compile(
    r"(?:my|our)\s(?P<of>(?:(?:all-time|current|new|work|home|personal|full|first|last|native|preferred|mobile|cell)\s)*[a-zA-Z'-]+(?:\s[a-zA-Z-]+){0,3}?)(?:\s(?P<not>no\slonger))?"
    r"\s?(?P<be>is|are|'s|has\sbecome|changed\sto|has\schanged\sto)\s(?P<now>(?:now|currently|still|actually)\s)?",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"(?:my|our)\s(?P<new>new\s|current\s)?(?:all[- ]time\s|absolute\s|personal\s)?(?:favou?rite|fave)\s(?P<of>[a-z][\w'/-]*(?:\s(?!is\b|are\b)[\w'/-]+){0,3}?)(?:\s(?:to\s\w+|of\sall\stime|ever))?(?P<be>\s(?:is|are|has\sto\sbe|would\sbe|has\sbecome)|'s)\s"
    r"(?P<now>(?:now|currently|definitely|probably|still|actually|by\sfar)\s)*",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_PHONE = re.compile(r"\+?\d[\d\s().-]{5,20}\d")
_CALL_ME = re.compile(
    r"(?:(?:please|you\scan|just|but|everyone\scan|friends\scan)\s)*call\sme\s(?P<name>[A-ZÀ-Ý][\w'-]+(?:\s(?!from\b|for\b)[A-ZÀ-Ý][\w'-]+)?)(?=\s*$|\s*[,.!]|\s(?:from\snow|for\sshort|instead)\b)",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"an?\s")
_APART = re.compile(r"\s(?:with|at|for|of|in|to|about)\s")
_REACH = re.compile(r"(?:you\scan\s)?(?:reach|email|contact|call|text)\sme\s(?:at|on|under)\s", re.IGNORECASE)
_IS_FAVOURITE = re.compile(
    r"(?P<what>[^,;]{2,60}?)\s(?:is|are|has\sbecome)\s(?P<now>now\s|currently\s)?(?:definitely\s|still\s|by\sfar\s)?my\s(?P<new>new\s)?(?:all[- ]time\s|absolute\s)?favou?rite\s"
    r"(?P<of>[a-z][\w'-]*(?:\s[a-z][\w'-]*){0,2})$",
    re.IGNORECASE,
)
_WAS_FAVOURITE = re.compile(
    r"(?:my|our)\sfavou?rite\s(?P<of>[a-z][\w'-]*(?:\s(?!used\b)[\w'-]+){0,2})\s(?:used\sto\sbe|was)\s(?P<what>[^,;]{2,60})",
    re.IGNORECASE,
)
_NOW_IT_IS = re.compile(r"\W*(?:but\s)?now\s(?:it's|it\sis|they're|i\sprefer)\s(?P<what>[^,;.!]{2,60})", re.IGNORECASE)
_BAD_KIND = frozenset("part thing way aspect one ones idea".split())
_TO_DO = re.compile(r"\s+(?:to\s+|on\s+(?=[a-z]+ing\b))(?=[a-z])")
_POINTS = re.compile(r"\b(?:this|that|these|those|it|them|your|you|here)\b", re.IGNORECASE)
# Where an event goes on with something else.
_CUT_EVENT = re.compile(
    r"[;:()—]|,(?!\d{3})|\s-\s|\s(?:because|since|but|so|which|who|when|while|although|though|as\s(?:I|we|it)|and\s(?:I|we|it|my|now|am|was|will|have))\b"
)
_LOOSE_END = re.compile(r"(?:\s+(?:about|around|back|on|in|at|for|over|just|only))+$")
_UNDERTAKING = re.compile(rf"(?:{words.UNDERTAKINGS})\b")
_NOT_PLANNED = re.compile(
    r"(?:use|add|make|be|ask|do|need|say|try|start\s(?:by|with)|see|check|keep|focus|have\sto|give|tell|show|let|think|go\swith|implement|include|take\syour|miss|get\sback|stick|put|look|follow|talk"
    r"|apply\s(?:these|this|the|your)|incorporate|explore|discuss|cover|consider|test|review|create|update|handle)\b"
)
_REGULARLY = re.compile(
    r"\b(?P<when>every\s(?:single\s)?(?:other\s)?(?:day|morning|evening|night|week|weekend|month|year|summer|winter|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?|(?:once|twice|three\stimes|four\stimes|five\stimes|\d\stimes)\s(?:a|per)\s(?:day|week|month|year)"
    r"|on\s(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days|weekends|weekdays)|each\s(?:day|morning|week|evening))(?!\w)"
)
_DAILY = frozenset(
    "go run swim jog walk cycle bike meditate practice practise play work read write train attend do take visit call volunteer teach hike dance paint cook eat drink wake meet exercise study".split()
)
_APPOINTMENT = re.compile(
    r"\s+(?:an?|my|another|the)\s+(?P<what>(?:[A-Za-z'-]+\s){0,3}?(?P<noun>[a-z-]+))\s+(?:(?:scheduled|coming\sup|booked|set|due)\s)?(?:(?:for|on|at|in|this|next)\s+)?(?:the\s)?$"
)
_WHEN_ALONE = re.compile(r"(?:on\s|in\s|at\s|since\s|back\sin\s)?.{0,3}$", re.IGNORECASE)


def dated(reading: Reading) -> bool:
    """What needs no "I": deadlines, dates, best times, favourites, "my X is Y". Whether a rule has read the clause."""
    text, at, end = reading.text, reading.start, reading.end
    manner = Manner.STATED
    if lead := LEAD.match(text, at, end):
        at = lead.end()
        manner = Manner.CORRECTED if CORRECTS.search(lead.group()) else manner
    return (
        _best(reading, at, end)
        or _deadline(reading, at, end, manner)
        or _goal(reading, at, end)
        or _favourite(reading, at, end, manner)
        or _mine(reading, at, end, manner)
        or _date(reading, at, end, manner)
        or _called(reading, at, end, manner)
        or _reached(reading, at, end, manner)
    )


def _reached(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    found = _REACH.match(reading.text, at, end)
    if found is None:
        return False
    for attribute, pattern in (("email", _EMAIL), ("phone", _PHONE)):
        if known := pattern.match(reading.text, found.end(), end):
            reading.add(attribute, Span(*known.span()), manner=manner)
            return True
    return False


def _called(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    found = _CALL_ME.match(reading.text, at, end)
    if found is None or not found.group("name")[0].isupper():
        return False
    reading.add("name", Span(*found.span("name")), manner=manner, entity_type="person")
    return True


def _best(reading: Reading, at: int, end: int) -> bool:
    found = _BEST.match(reading.text, at, end)
    if found is None:
        return False
    changed = found.group("now") is not None or "to" in found.group().lower().split()
    manner = Manner.CHANGED if changed else Manner.STATED
    reading.add(f"personal_best:{qualifier_of(found.group('of'))}", Span(*found.span("value")), manner=manner)
    return True


def _named_date(reading: Reading, start: int, end: int) -> Span | None:
    """The time that stands at the beginning of a part, or None."""
    time = english_time(reading.text, max(reading.start, start - 6), end)
    if time is None or time.span.start < start or time.span.start - start > 8:
        return None
    return time.span


def _deadline(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    found = _DEADLINE.match(reading.text, at, end) or _DUE.match(reading.text, at, end)
    if found is None or (date := _named_date(reading, found.start("date"), end)) is None:
        return False
    groups = found.groupdict()
    of = qualifier_of((groups.get("of") or groups.get("before") or "").strip())
    if groups.get("moved") or groups.get("now"):
        manner = Manner.CHANGED if manner is Manner.STATED else manner
    reading.add(
        f"deadline:{of}" if of and of not in ("new", "final", "current", "project's") else "deadline",
        date,
        manner=manner,
        timed=False,
    )
    return True


def _date(reading: Reading, at: int, end: int, manner: Manner) -> bool:
    found = _DATE.match(reading.text, at, end)
    if found is None or (date := _named_date(reading, found.start("date"), end)) is None:
        return False
    of = qualifier_of(found.group("of"))
    last = _APART.split(of)[0].split()[-1]
    if (not found.group("moved") and last not in words.EVENTS) or last in ("day", "date", "time", "night", "week"):
        return False
    if last in words.RELATIONS:
        return False
    if found.group("moved") or (found.group("now") or "").startswith("now"):
        manner = Manner.CHANGED if manner is Manner.STATED else manner
    reading.add(f"date:{of}", date, manner=manner, timed=False)
    return True


def _goal(reading: Reading, at: int, end: int) -> bool:
    found = _GOAL.match(reading.text, at, end)
    if found is None:
        return False
    reading.time = english_time(reading.text, found.end(), end)
    stop = cut(reading.text, found.end(), end)
    if reading.time is not None:
        stop = min(stop, reading.time.outer.start)
    if (span := trimmed(reading.text, found.end(), stop)) is not None:
        reading.add("goal", span)
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


def _favourite(reading: Reading, at: int, end: int, manner: Manner) -> bool:
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


def _mine(reading: Reading, at: int, end: int, manner: Manner) -> bool:
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
    if attribute in ("email", "phone"):
        known = (_EMAIL if attribute == "email" else _PHONE).match(text, start, end)
        span = Span(*known.span()) if known else None
    elif attribute == "birthday":
        span = _named_date(reading, start, end)
        span = span if span is not None and re.search(r"\d", text[span.start : span.end]) else None
    else:
        span = trimmed(text, start, cut(text, start, end))
    if span is None or not _fits(attribute, text[span.start : span.end]):
        return True
    for part in items(text, span) if attribute in ("speaks", "hobby") else [span]:
        reading.add(attribute, part, manner=manner, polarity=0.8 if attribute == "hobby" else 0.0)
    return True


def _fits(attribute: str, written: str) -> bool:
    if attribute in ("name", "from", "nationality", "employer", "lives_in"):
        return written[:1].isupper() or (written.islower() and len(written.split()) <= 2)
    if attribute == "job":
        return trade(written)
    if attribute == "speaks":
        return written.split()[0].lower() in words.LANGUAGES
    if attribute in ("age", "height", "weight", "salary"):
        return any(character.isdigit() for character in written)
    return len(written.split()) <= 6


def plans(reading: Reading, head: Head) -> None:
    """Of "planning to", "going to", "intend to", "decided to", "want to", "hope to"."""
    text = reading.text
    will = head.be == "be" and ("'ll" in head.words or "will" in head.words)
    if head.relation or head.negated or head.used or head.past or (head.modal and not will):
        return
    found = _TO_DO.match(text, head.after, head.end)
    if found is None:
        if head.verb in _TRAVELS and head.be:
            _travels(reading, head)
        return
    find_time(reading, head)
    if reading.time is not None and reading.time.span.start < head.verb_at and head.verb == "going":
        return
    start = found.end()
    certain = _UNDERTAKING.match(text, start, head.end) is not None
    goal = head.verb in ("want", "hope", "hoping", "dream", "aim", "aiming")
    if head.verb == "going" and not found.group().strip() == "to":
        return
    if (goal and (not certain or head.modal)) or _NOT_PLANNED.match(text, start, head.end):
        return
    if head.verb == "going" and not certain and reading.time is None:
        return
    span = value(reading, start, head)
    if (
        span is not None
        and len(text[span.start : span.end].split()) > 1
        and not _POINTS.search(text, span.start, span.end)
    ):
        reading.add(
            "goal" if goal else "plan", span, manner=head.manner if head.manner is Manner.CORRECTED else Manner.STATED
        )


def _travels(reading: Reading, head: Head) -> None:
    """ "am going to Japan next month", "am getting married in May"."""
    text = reading.text
    find_time(reading, head)
    if reading.time is None or reading.time.span.start < head.verb_at:
        return
    if head.verb not in _GOES and not re.match(r"next|tomorrow", text[reading.time.span.start :][:8], re.IGNORECASE):
        return
    if head.verb in _GOES and not re.match(
        r"\s+(?:(?:back|over)\s)?(?:to\s+(?:the\s)?[A-Z]|married|on\s(?:a\s)?(?:vacation|holiday|trip|cruise|hike))|\s+[A-Z]",
        text[head.after : head.end],
    ):
        return
    span = trimmed(text, head.verb_at, min(reading.time.outer.start, cut(text, head.verb_at, head.end)))
    if span is not None and len(text[span.start : span.end].split()) > 1:
        reading.add("plan", span)


def happened(reading: Reading, head: Head) -> bool:
    """What was done in a named time ("ran a marathon last Sunday"); whether it was read."""
    text = reading.text
    done = head.verb in words.PAST or (head.verb.endswith("ed") and len(head.verb) > 4)
    if not done or head.relation or head.negated or head.modal or head.used or head.be:
        return False
    if head.verb in (
        "wanted",
        "needed",
        "tried",
        "liked",
        "loved",
        "noticed",
        "asked",
        "wondered",
        "mentioned",
        "used",
        "realized",
        "realised",
        "said",
        "felt",
        "heard",
        "thought",
    ):
        return False
    find_time(reading, head)
    time = reading.time
    if time is None or re.match(r"(?:next|tomorrow|today)", text[time.span.start : time.span.end], re.IGNORECASE):
        return False
    end = time.outer.start if time.span.start > head.verb_at else head.end
    ends = _CUT_EVENT.search(text, head.verb_at, end)
    end = ends.start() if ends is not None else end
    if loose := _LOOSE_END.search(text, head.verb_at, end):
        end = loose.start()
    span = trimmed(text, head.verb_at, end)
    if span is None or len(text[span.start : span.end].split()) < 2 or _POINTS.search(text, span.start, span.end):
        return False
    reading.add("event", span)
    return True


def appointment(reading: Reading, head: Head) -> bool:
    """ "have a dentist appointment on Friday"; whether it was read."""
    if head.relation or head.negated or head.modal or head.past:
        return False
    time = english_time(reading.text, head.after, head.end)
    if time is None or time.span.start - head.after > 80:
        return False
    found = _APPOINTMENT.match(reading.text[head.after : time.outer.start] + " ")
    if found is None or found.group("noun") not in words.EVENTS:
        return False
    reading.time = time
    start = head.after + found.start("what")
    reading.add("event", Span(start, start + len(found.group("what"))))
    return True


def regularly(reading: Reading, head: Head) -> bool:
    """What is done every so often; whether it was read."""
    text = reading.text
    if head.verb not in _DAILY or head.be or head.negated or head.modal or head.used or head.relation:
        return False
    found = _REGULARLY.search(text, head.after, head.end)
    if found is None:
        return False
    span = trimmed(text, head.verb_at, found.end())
    if span is None:
        return False
    reading.time = None
    reading.add("routine", span, manner=head.manner)
    return True


_GOES = ("going", "flying", "traveling", "travelling", "getting", "moving")
_TRAVELS = (
    *_GOES,
    "visiting",
    "taking",
    "attending",
    "hosting",
    "joining",
    "throwing",
    "having",
    "seeing",
    "running",
    "competing",
    "performing",
    "presenting",
    "graduating",
)
PLANS = (
    *_TRAVELS,
    "planning",
    "plan",
    "going",
    "intend",
    "intending",
    "decided",
    "want",
    "hope",
    "hoping",
    "flying",
    "traveling",
    "travelling",
    "visiting",
    "getting",
    "aim",
    "aiming",
    "moving",
    "starting",
)
__all__ = ["PLANS", "appointment", "dated", "happened", "place", "plans", "regularly"]
