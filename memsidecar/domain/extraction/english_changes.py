"""English rules for what has changed: habits that ended or came back, employers joined and left, new numbers.

Most of it says something only to who knows what was before (`Claim.only_denies`).
"""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction.english_clauses import Head
from memsidecar.domain.extraction.english_places import find_time, no_more, value
from memsidecar.domain.extraction.english_work import trade
from memsidecar.domain.extraction.letters import BIG
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import english_time
from memsidecar.domain.extraction.values import items, trimmed
from memsidecar.domain.habits import kind_of

DAILY = frozenset(
    "go run swim jog walk cycle bike meditate practice practise play work read write train attend do"
    " take visit call volunteer teach hike dance paint cook eat drink wake meet exercise study smoke".split()
)
"""What is done every so often."""
_OTHER_RULES = frozenset(("work", "study", "play"))
_POINTS = re.compile(
    r"\b(?:this|that|these|those|it|them|there|here|so|much|enough|well|anything|you|your|out)\b|(?:now|again|properly)$",
    re.IGNORECASE,
)


def ended(reading: Reading, head: Head) -> None:
    """Of "don't go running anymore", "used to run every day": the habit that is one no longer."""
    if head.verb not in DAILY - _OTHER_RULES or head.be or head.relation or head.past or head.modal:
        return
    if not head.used and not (head.negated and no_more(reading, head)):
        return
    _ends(reading, trimmed(reading.text, head.verb_at, head.end))


def _ends(reading: Reading, what: Span | None) -> None:
    if what is not None and not _POINTS.search(reading.text, what.start, what.end):
        reading.add("routine", what, negated=True, manner=Manner.CHANGED, since=True, only_denies=True)


_DOING = re.compile(r"\s+(?P<doing>[a-z]+ing\b.*)")
_PLACE_LEFT = re.compile(r"\s+(?P<doing>(?:the|my)\s(?!job\b|school\b|college\b)[a-z]+)(?=\s*$|\s*[,.!])")

_THING_LEFT = re.compile(
    r"\s+(?P<thing>(?!(?:early|again|too|it|that|this|them|there|here|now|today|yesterday|last|because|when|after|and|but"
    r"|so|in|on|at|my|the|a|school|college|work|with|without|all|both|before|right|job|jobs)\b)[a-z]{3,})(?=\s*$|\s*[,.!])"
)


def stopped_doing(reading: Reading, head: Head) -> None:
    """Of "stopped going to the gym", "quit the gym": the same."""
    if head.relation or head.negated or head.modal:
        return
    found = _DOING.match(reading.text, head.after, head.end)
    if found is None and head.verb == "quit":
        found = _PLACE_LEFT.match(reading.text, head.after, head.end)
        if found is None and (thing := _THING_LEFT.match(reading.text, head.after, head.end)):
            what = Span(*thing.span("thing"))
            reading.add("likes", what, polarity=-0.6, manner=Manner.CHANGED, only_denies=True)
            given_up(reading, [what])
    if found is not None:
        time = english_time(reading.text, found.start("doing"), head.end)
        _ends(reading, trimmed(reading.text, found.start("doing"), time.outer.start if time else head.end))


def given_up(reading: Reading, things: list[Span]) -> None:
    """Of "gave up coffee": it is drunk, or eaten, no longer."""
    for thing in things:
        for verb in ("drink", "eat"):
            words = f"{verb} {reading.original[thing.start : thing.end]}"
            reading.add("routine", words, negated=True, manner=Manner.CHANGED, since=True, only_denies=True)


def prefers_no_more(reading: Reading, thing: Span, polarity: float) -> None:
    """Of "don't like window seats anymore": no longer the seats that are preferred, if they were."""
    written = reading.original[thing.start : thing.end]
    if kind := kind_of(written):
        reading.add(f"prefers:{kind}", thing, polarity=polarity, manner=Manner.CHANGED, only_denies=True)


_AGAIN = re.compile(r"\b(?:again|now|once\smore|nowadays|these\sdays)\W*$")
_REGULAR = re.compile(r"\b(?:every|each)\s|\b(?:a|per)\s(?:day|week|month)\b|\bon\s\w+days\b")
_ONCE_MORE = re.compile(r"\bagain\W*$")
# How, where or how much, not what.
_HOW = re.compile(r"(?:more|less|fewer|at|in|on|once|twice|only|health\w+|better|with|from|like|alone|together|\d)\b")
_RESUMES = re.compile(r"\s+(?:back\s)?(?:to\s)?(?:eat|drink)(?:ing)?\s")


def resumes(reading: Reading, head: Head) -> bool:
    """Of "eat meat again", "can eat gluten now", "started drinking coffee": what was avoided; whether it was read."""
    if (
        head.negated
        or head.modal
        or head.relation
        or head.used
        or (head.be and head.verb not in ("eating", "drinking"))
    ):
        return False
    if _REGULAR.search(reading.text, head.after, head.end):
        # A habit, which another rule reads.
        return False
    at, verb = head.after, head.verb
    if head.verb not in _CONSUMING:
        found = _RESUMES.match(reading.text, head.after, head.end)
        if found is None or (head.verb in _WENT and " back " not in found.group()):
            return False
        at, verb = found.end(), found.group()
    elif head.be and not _ONCE_MORE.search(reading.text, head.after, head.end):
        # "I'm drinking coffee now": at this moment.
        return False
    elif head.manner is not Manner.CHANGED and not _AGAIN.search(reading.text, head.after, head.end):
        return False
    find_time(reading, head)
    what = value(reading, at, head, commas=False)
    if what is None or _POINTS.search(reading.text, what.start, what.end) or _HOW.match(reading.text, what.start):
        return False
    for thing in items(reading.text, what):
        reading.add("likes", thing, polarity=0.3, manner=Manner.CHANGED, since=True, only_denies=True)
        words = f"{'drink' if 'drink' in verb else 'eat'} {reading.original[thing.start : thing.end]}"
        reading.add("routine", words, manner=Manner.CHANGED, since=True, only_denies=True)
    return True


_CONSUMING = frozenset(("eat", "drink", "eating", "drinking", "consume"))
_WENT = frozenset(("went", "gone"))
_BEGINNING = frozenset(("started", "began", "begun", "resumed", "went", "gone", "starting"))
"""What may stand before "eating meat again"."""

_FIRM = rf"[{BIG}][\w&.'-]*\w(?:\s(?:&|of|de)\s[{BIG}][\w&.'-]*\w|\s[{BIG}][\w&.'-]*\w|\s\d{{1,3}})*"
_SPAN = r"(?:\d{1,2}|an?|two|three|four|five|six|seven|eight|nine|ten|several|many|a\sfew)"
_LEFT = re.compile(
    rf"\s+(?P<whom>{_FIRM})(?=\s*$|\s*[,.!]|\s(?:after|recently|and|but|because|so)\b"
    rf"|\s(?P<then>(?:for|to\s(?:join|work|start|found|go))\b)|\s(?:last|in|on|this|yesterday|today|{_SPAN}\s\w+\sago)\b)"
)
_THEN_JOINED = re.compile(rf"\s+to\s(?:join|work\s(?:at|for))\s(?P<whom>{_FIRM})(?=\s*$|\s*[,.!]|\s(?:as|in|last)\b)")


def left(reading: Reading, head: Head) -> None:
    """Of "left Google", "quit Google": an employer, if he is known for one; Paris is left, too, and Anna."""
    if head.modal or head.negated or head.used:
        return
    found = _LEFT.match(reading.text, head.after, head.end)
    if found is None:
        return
    find_time(reading, head)
    whom = Span(*found.span("whom"))
    _employs(reading, head, whom, negated=True, only_denies=True)
    joined_then = _THEN_JOINED.match(reading.text, whom.end, head.end)
    if joined_then is not None:
        _employs(reading, head, Span(*joined_then.span("whom")))


def _employs(reading: Reading, head: Head, whom: Span, *, negated: bool = False, only_denies: bool = False) -> None:
    reading.add(
        "employer",
        whom,
        subject=head.subject,
        negated=negated,
        manner=Manner.CHANGED,
        since=True,
        entity_type="organisation",
        only_denies=only_denies,
    )


_JOINED = re.compile(
    rf"\s+(?:the\s(?:[a-z]+\s){{0,2}}team\sat\s)?(?P<whom>{_FIRM})(?:'s\s(?:[a-z]+\s){{1,2}}team)?"
    r"(?:\s+(?:full[- ]time|part[- ]time))?(?:\s+as\s(?:an?|the|their)\s(?P<job>[a-z][a-z -]{2,40}?))?"
    r"(?=\s*$|\s*[,.!]|\s(?:last|in|this|on|at|two|three|four|five|six|a|\d+)\b)"
)
# One becomes a member of these, or looks in.
_NO_EMPLOYER = re.compile(
    r"(?:Facebook|Twitter|X|Instagram|Reddit|Discord|Slack|Zoom|LinkedIn|TikTok|Telegram|WhatsApp|WeChat|Tinder|Bumble"
    r"|Hinge|Strava|Duolingo|Netflix|Spotify|Teams|GitHub|Patreon|YouTube|Snapchat|Pinterest|Mastodon|Bluesky|Threads"
    r"|Quora|Medium|Substack|Twitch|Steam|Peloton|Costco|Rotary|Mensa|Toastmasters|CrossFit|Harvard|Yale|Stanford|MIT|Oxford|Cambridge|Princeton|Berkeley|Caltech|Cornell|Columbia|UCLA|NYU|Weight\sWatchers|Prime)\b"
    r"|.*\b(?:Club|Gym|Group|Band|Party|Church|Army|Navy|Marines|Force|Guard|Union|Society|Community|Choir"
    r"|League|Meetup|Program|Programme|Class|Course|University|College|School|Academy|Fitness|Server|Channel|Alliance"
    r"|Project|Committee|Board|Council|Orchestra|Team|Corps|Network|Forum|Plus|Premium|Prime|Meeting|Call|Anonymous)\b"
)
# Somebody is joined for an evening, a firm for years.
_LASTING = re.compile(
    r"(?:(?:early|late|mid)\W?)?(?:last|this)\s(?:month|year|spring|summer|fall|autumn|winter|quarter|[A-Z][a-z]+)"
    r"|(?:\w+\s){1,3}(?:weeks|months?|years?)\sago|(?:early\s|late\s)?[A-Z][a-z]{2,8}(?:,?\s\d{4})?|(?:19|20)\d\d"
)
# Not where, as one joins a friend: "joined Sarah last month in Rome".
_ENDS = re.compile(r"\W*$|\s*[,.!;]|\s(?:and|but|as|so)\b")
_DAY = re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|last\s(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)|Christmas|Easter")


def joined(reading: Reading, head: Head) -> bool:
    """Of "joined Meta last month", "joined Acme as a nurse"; whether it was an employer."""
    found = _JOINED.match(reading.text, head.after, head.end)
    if found is None or head.modal or head.negated or head.used or head.be or _NO_EMPLOYER.match(found.group("whom")):
        return False
    find_time(reading, head)
    job = found.group("job")
    works = (job is not None and trade(job)) or "team" in found.group() or found.group().rstrip().endswith("-time")
    if not works and not _began_then(reading):
        return False
    _employs(reading, head, Span(*found.span("whom")))
    if job is not None and trade(job):
        reading.add("job", Span(*found.span("job")), subject=head.subject, manner=Manner.CHANGED, since=True)
    return True


def _began_then(reading: Reading) -> bool:
    if reading.time is None:
        return False
    words = reading.text[reading.time.span.start : reading.time.span.end]
    after = reading.text[reading.time.outer.end : reading.end]
    return _LASTING.fullmatch(words) is not None and not _DAY.match(words) and _ENDS.match(after) is not None


_RENEWED = re.compile(
    r"\s+(?:my|an?|to\san?|to\smy)\s+(?:new\s)?(?:(?:phone|mobile|cell|telephone|work|personal)\s)?"
    r"(?P<what>number|e?mail(?:\saddress)?)\b"
)
_NEW_ONE = re.compile(
    r"\W{1,4}(?:and\s|so\s)?(?:(?:the|my)\snew\s(?:one|number|e?mail(?:\saddress)?)(?:\sis|'s)|(?:it's|it\sis|now\sit's"
    r"|it's\snow|new\s(?:one|number|e?mail):?|the\snumber\sis|here\sit\sis:?))\s(?:now\s)?"
    r"(?:(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})|(?P<phone>\+?\d[\d\s().-]{5,20}\d))",
    re.IGNORECASE,
)


def renewed(reading: Reading, head: Head) -> bool:
    """Of "changed my number, the new one is ...", which may stand in the next sentence; whether it was read."""
    found = _RENEWED.match(reading.text, head.after, head.end)
    if found is None or head.modal or head.negated or head.subject:
        return False
    new = _NEW_ONE.match(reading.text, found.end(), found.end() + 120)
    if new is None:
        return False
    attribute = "email" if new.group("mail") else "phone"
    reading.end = max(reading.end, new.end())
    reading.add(attribute, Span(*new.span("mail" if new.group("mail") else "phone")), manner=Manner.CHANGED)
    return True


CHANGING = {
    **dict.fromkeys((*_CONSUMING, *_BEGINNING), resumes),
    **dict.fromkeys(("changed", "got", "have", "switched"), renewed),
    "joined": joined,
}
"""What has changed by the verb that says so. Each says whether it was read."""
