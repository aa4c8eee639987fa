"""English sentences as clauses, and how each begins: whose it is, and what stands before its verb."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction.english_words import RELATIONS, THIRD_PERSON
from memsidecar.domain.extraction.letters import BIG
from memsidecar.domain.extraction.times import english_time

LONGEST_CLAUSE = 400
_SUBJECT_WORD = (
    r"(?:i|i'\w+|my|we|we'\w+|our|he|she|they|you|you're|it|it's|this|that's|there|there's|his|her"
    r"|their|the|everyone|people)\b"
)
_ADVERB = r"(?:(?:now|also|just|then|currently|recently|lately|sadly|luckily|fortunately|unfortunately|even|still)\s+)?"
# What can go on without a subject: "I'm 28 and live in Oslo".
_GOES_ON = (
    r"(?:lives?\sin|works\s(?:at|for|as)|has\san?\s|is\s(?:an?|allergic)\s|prefers\s|likes\s|hates\s"
    r"|speaks\s|work(?:ing)?\s(?:at|for|as)|am\s|have\san?\s|moved\sto|don't\s|do\snot\s|can't\s"
    r"|prefer\s|hate\s|love\s|study\s|speak\s|own\sa|recently\s\w+ed|(?:\w+ly\s)?(?:prefer|refuse"
    r"|avoid|dislike|enjoy)\s)"
)
_MAY_BREAK = re.compile(
    r"[;:()—,]|\.{2}|(?<=\s)[-–]{1,2}(?=\s)|(?<=\s)(?:and|but|so|because|since|although|though|plus|while|yet|or)(?=\s)"
)
_ALWAYS_BREAKS = re.compile(r"(?:[;()—]|:(?!\d)|\.{2,}|[-–]{1,2}(?=\s))[\s;:()—.–-]*")
_AFTER_COMMA = re.compile(
    rf"""[,\s]*(?=(?:but|so|yet|which|who|where|because|although|though|especially|can|could|would|will
  |do|does|did|is\s(?:it|there|this|that)
        |are\s(?:there|you|these)|what|how|why|when|any|please|thanks|right|correct|isn't|don't|aren't
          |yeah|huh|no|not|{_ADVERB}{_SUBJECT_WORD})\b
        |(?:and|or|plus|since|while)\s+{_ADVERB}{_SUBJECT_WORD}|and\s+{_ADVERB}{_GOES_ON})""",
    re.VERBOSE | re.IGNORECASE,
)
_JOINS = re.compile(
    rf"(?:and|but|so|because|since|although|though|plus|while|yet|or)\s+{_ADVERB}{_SUBJECT_WORD}|(?:and"
    rf"|but)\s+{_ADVERB}{_GOES_ON}|so\s+(?:that|can|could|please)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:(?:and|but|so|or|also|then|well|hmm|ok|okay|hey|hi|please|maybe|just|now)\b[\s,]*)*"
    r"(?:can|could|would|will|should|shall|may|is|are|was|were|am|do|does|did|has|have\s(?:i|you|we"
    r"|they)|what|what's|whats|how|how's|hows|which|why|where|when\b"
    r"|who|whose|whom|any\b|anything|wanna|don't\syou|isn't\sit|aren't\sthey|got\sany|please|help|give"
    r"|show|tell|explain|suggest|recommend|provide|write)\b",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"(?:right|correct|yeah|yes|no|huh|eh|ok|okay|true|isn't|don't\s(?:i|we)|aren't|am\si\snot|do\si"
    r"|am\si|is\sthat|which\s(?:was|is|one)|remember|or\s(?:not|what)|didn't\si)\b",
    re.IGNORECASE,
)
LEAD = re.compile(
    r"(?:(?:and|but|so|also|plus|well|oh|ah|hi|hey|hello|yes|yeah|yep|sure|ok|okay|no|nope|wait|hm+"
    r"|actually|btw|by\sthe\sway|fyi|honestly|personally|frankly|anyway|though"
    r"|although|because|since|while|however|correction|sorry|oops|turns\sout(?:\sthat)?"
    r"|it\sturns\sout(?:\sthat)?|scratch\sthat|i\swas\s(?:wrong|mistaken)|now|currently|nowadays"
    r"|these\sdays|right\snow|at\sthe\smoment|lately|recently|as\sof\snow|today"
    r"|sadly|luckily|fortunately|unfortunately|in\sfact|to\sbe\shonest|tbh|for\scontext"
    r"|for\sthe\srecord|as\syou\sknow|of\scourse|thanks|thank\syou|great|wow|good\smorning"
    r"|i\s(?:meant|mean|misspoke)|my\s(?:mistake|bad)|let\sme\scorrect\s(?:that|myself)|just|generally"
    r"|usually|in\sgeneral|overall|there|please\snote(?:\sthat)?|note\sthat"
    r"|remember(?:\sthat)?|you\sshould\sknow(?:\sthat)?|just\sso\syou\sknow|first|second|finally|then"
    r"|also)\b[\s,!.:-]*){1,8}",
    re.IGNORECASE,
)
CORRECTS = re.compile(
    r"\b(?:actually|no|nope|wait|correction|sorry|oops|i\s(?:meant|mean|misspoke)|my\s(?:mistake|bad)"
    r"|let\sme\scorrect|turns\sout|scratch\sthat|i\swas\s(?:wrong|mistaken))\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(r"\b(?:now|nowadays|as\sof\snow)\b", re.IGNORECASE)
_RELATION = "|".join(sorted((word.replace("-", "[ -]") for word in RELATIONS), key=len, reverse=True))
_SUBJECT = re.compile(
    rf"""(?P<self>(?:I|i|[Ww]e|WE)\b(?=[\s'])) | (?P<im>[Ii]m)(?=\s)
    | (?P<own>(?:[Mm]y|[Oo]ur)\s
        (?:(?:older|younger|elder|eldest|oldest|youngest|little|big|twin|step|best|good|close|old|dear
          |current|new|beloved|late|(?P<many>two|three))[\s-]+){{0,2}}
        (?P<relation>{_RELATION})(?P<plural>s)?)(?![\w-])(?!'s\s(?!name\b))
      (?:(?P<names>'s\sname)|,?\s(?P<name>(?:(?:Mr|Mrs|Ms
        |Dr)\.\s)?[{BIG}][\w'-]+(?:\s[{BIG}][\w'-]+){{0,2}})(?:(?='s\s)|\b),?)?
    """,
    re.VERBOSE,
)
# How a time begins that stands before the subject.
_TIME_FIRST = re.compile(
    r"(?:in|on|at|since|from|by|after|before|around|back|as\sof|starting|last|next|this|yesterday"
    r"|today|tomorrow|tonight|the|a|an|one|two|three|four|five|six"
    r"|seven|eight|nine|ten|\d+|several|early|late|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_AFTER_TIME = re.compile(r"[\s,]*")
RELATIVE = re.compile(
    r"\b(?:[Mm]y|[Oo]ur)\s(?:(?:older|younger|elder|eldest|oldest|youngest|little|big|twin|best|good"
    rf"|close|old|dear|new)\s){{0,2}}(?P<relation>{_RELATION}),?\s"
    rf"(?P<name>[{BIG}][\w-]+)(?=\s[a-z]|'s\s|\s*$|[,.!]|\sand\s)"
)
"""Somebody near and his name, anywhere: "with my daughter Sara"."""
_GOES_ON_WITH = re.compile(r"(?:and|but)\s")
_OF_LIKING = frozenset("refuse prefer avoid dislike hate love like despise detest stand enjoy eat".split())
# "I'm trying to keep control and avoid risks": what goes on there is what is tried.
_TO = re.compile(r"\b(?:to|will|would|can|could|should|must|let)\s(?!be\b)[a-z]+\b|'ll\s")
_WORD = re.compile(r"[\s,]*('(?:m|ve|re|s|ll|d)\b|[^\W_][\w+#-]*(?:'[a-z]+)?|\ufffc+)")
_BE = frozenset("am is are was were be been being 'm 're 's".split())
_NOT = frozenset(
    "not never don't doesn't didn't isn't aren't wasn't weren't haven't hasn't can't cannot won't"
    " ain't dont cant".split()
)
_ADVERBS = frozenset(
    """really truly absolutely totally just also still currently now actually always usually often generally recently
lately finally
    already strongly deeply personally genuinely honestly definitely particularly especially simply only even
    kinda mostly mainly quite very so super
    pretty both all does 've long originally officially newly happily proudly firmly completely naturally
    typically normally greatly thoroughly passionately sincerely""".split()
)
_STRONG = frozenset(
    "really truly absolutely totally strongly deeply always so super very completely firmly passionately".split()
)
_MODAL = frozenset("could would might may should will must 'll 'd shall wouldn't couldn't shouldn't".split())
_AFTER_HAVE = frozenset(
    "been always never just recently also become got had moved lived worked started long loved hated"
    " decided switched stopped gone grown".split()
)
_STRESSED = re.compile(r"\s+(?:not|really|also|still|like|love|enjoy|hate|prefer|live|work|have|own)\b")
_HAVE = frozenset("have has had".split())


@dataclass(slots=True)
class Head:
    """How a clause begins. The subject is empty for the speaker; `verb` is in lower case, `after` where it ends."""

    start: int
    end: int
    subject: str = ""
    relation: str = ""
    name: Span | None = None
    relation_span: Span | None = None
    names: bool = False
    owned: bool = True
    """The subject is written in this clause, not in the one before it."""
    plural: bool = False
    verb: str = ""
    verb_at: int = 0
    after: int = 0
    be: str = ""
    negated: bool = False
    modal: bool = False
    used: bool = False
    past: bool = False
    strong: bool = False
    manner: Manner = Manner.STATED
    words: list[str] = field(default_factory=list)


def clauses(text: str, start: int, end: int, *, asked: bool) -> Iterator[tuple[int, int]]:
    """The clauses of a sentence that state something; of a question (`asked`) those before what is asked."""
    borders = list(_borders(text, start, end))
    parts = list(zip([start, *(b for _, b in borders)], [*(a for a, _ in borders), end], strict=True))
    parts = [(a, b) for a, b in parts if a < b]
    if asked:
        first = next((i for i, (a, b) in enumerate(parts) if _ASKS.match(text, a, b)), None)
        if first is None or first == 0 or any(_TAG.match(text, a, b) for a, b in parts[1:]):
            return
        parts = parts[:first]
    first_of: int | None = None
    for a, b in parts:
        a = first_of if first_of is not None else a
        # "Actually," and "In 2019," belong to what comes after them.
        if LEAD.fullmatch(text, a, b) or _is_time(text, a, b):
            first_of = a
            continue
        first_of = None
        yield a, min(b, a + LONGEST_CLAUSE)


def _borders(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    after = start
    for found in _MAY_BREAK.finditer(text, start, end):
        at = found.start()
        if at < after:
            continue
        sign = text[at]
        if sign.isalpha():
            if _JOINS.match(text, at, end):
                yield at, at
            continue
        border = (_AFTER_COMMA if sign == "," else _ALWAYS_BREAKS).match(text, at, end)
        if border is not None:
            after = border.end()
            yield at, after


def _is_time(text: str, start: int, end: int) -> bool:
    if end - start > 40 or not _TIME_FIRST.match(text, start, end):
        return False
    found = english_time(text, start, end)
    return found is not None and found.outer.start - start < 2 and end - found.outer.end < 2


# "Since" may be the reason, and the beginning of a time: "Since March I live in Oslo".
_SINCE = re.compile(r"\bsince\W*$", re.IGNORECASE)


def _is_time_first(text: str, at: int, end: int) -> bool:
    found = english_time(text, at, min(end, at + 40))
    return found is not None and found.outer.start == at


NOTE = re.compile(
    r"(?:The\s|This\s)?[Uu]ser(?=\s(?!can\b|may\b|must\b|should\b|will\b|stor|interface|input"
    r"|experience|clicks|enters))|(?:The\s)?[Uu]ser's\s"
    r"|(?:Likes|Loves|Hates|Enjoys|Dislikes|Prefers|Avoids|Refuses|Owns|Knows|Plays|Lives|Works|Speaks"
    r"|Studies|Wants|Plans|Has|Is|Was|Uses|Reads|Writes|Edits|Decided"
    r"|Moved|Switched|Previously|Allergic)\s"
)
"""How a note about a user begins, whose subject is left out or is "the user"."""


def head_of(text: str, start: int, end: int, before: Head | None, *, note: bool = False) -> Head | None:
    """How a clause begins, or None when it is not about the speaker or somebody of his.

    `before` is the clause before it in the sentence, whose subject goes on when this one has none. In a `note` the
    speaker is "the user", or left out.
    """
    head = Head(start, end)
    at = start
    if lead := LEAD.match(text, start, end):
        at = lead.end()
        if CORRECTS.search(lead.group()):
            head.manner = Manner.CORRECTED
        elif _CHANGES.search(lead.group()):
            head.manner = Manner.CHANGED
        if (since := _SINCE.search(lead.group())) and _is_time_first(text, start + since.start(), end):
            at = start + since.start()
    if (
        _TIME_FIRST.match(text, at, end)
        and (time := english_time(text, at, min(end, at + 40))) is not None
        and time.outer.start - at < 2
    ):
        at = _AFTER_TIME.match(text, time.outer.end, end).end()  # type: ignore[union-attr]  # matches the empty text, too
    if note and (noted := NOTE.match(text, at, end)):
        named = "ser" in noted.group()[:12]
        if "'s" in noted.group():
            return None
        _read_verb(text, noted.end() if named else at, head)
        head.verb = THIRD_PERSON.get(head.verb, head.verb)
        return head if head.verb else None
    found = _SUBJECT.match(text, at, end)
    if found is None:
        if (
            before is None
            or not _GOES_ON_WITH.match(text, start, end)
            or (before.verb not in _OF_LIKING and _TO.search(text, before.start, before.end))
        ):
            return None
        head.subject, head.relation, head.owned, head.start = before.subject, before.relation, False, before.start
        _read_verb(text, at, head)
        if note:
            head.verb = THIRD_PERSON.get(head.verb, head.verb)
        return head if head.verb else None
    at = found.end()
    if found.group("im"):
        head.be, head.words = "'m", ["'m"]
    if found.group("relation"):
        _read_relation(text, found, head)
    _read_verb(text, at, head)
    return head


def _read_relation(text: str, found: re.Match[str], head: Head) -> None:
    head.relation = RELATIONS.get(found.group("relation").replace(" ", "-").lower(), "")
    head.plural = (
        found.group("relation").endswith("parents")
        or found.group("plural") is not None
        or found.group("many") is not None
    )
    head.relation_span = Span(*found.span("own"))
    head.names = found.group("names") is not None
    if found.group("name"):
        head.name = Span(*found.span("name"))
        head.subject = found.group("name")
    else:
        own = found.group("own")
        head.subject = own[0].lower() + own[1:]


def _read_verb(text: str, at: int, head: Head) -> None:
    while word := _WORD.match(text, at, head.end):
        plain = word.group(1).lower()
        if plain in _BE:
            head.be, head.past = plain, head.past or plain in ("was", "were")
        elif plain in _NOT:
            head.negated = True
        elif plain == "no" and text.startswith(" longer", word.end()):
            head.negated, head.manner = True, Manner.CHANGED
            at = word.end() + len(" longer")
            continue
        elif plain == "used" and text.startswith(" to ", word.end()):
            head.used = True
            at = word.end() + len(" to")
            continue
        elif plain in _MODAL:
            head.modal = True
        elif plain == "can":
            pass
        elif plain in _HAVE:
            if head.be or not _is_perfect(text, word.end(), head.end):
                break
        elif plain in ("do", "did"):
            if not _STRESSED.match(text, word.end(), head.end):
                break
        elif plain not in _ADVERBS:
            break
        head.strong = head.strong or plain in _STRONG
        if plain == "now" and head.manner is Manner.STATED:
            head.manner = Manner.CHANGED
        head.words.append(plain)
        at = word.end()
    if word:
        head.verb, head.verb_at, head.after = word.group(1).lower(), word.start(1), word.end()


def _is_perfect(text: str, at: int, end: int) -> bool:
    """Whether "have" stands before a participle: "have lived", not "have a dog"."""
    following = _WORD.match(text, at, end)
    if following is None:
        return False
    plain = following.group(1).lower()
    return plain in _AFTER_HAVE or (plain.endswith("ed") and plain not in ("red", "bed"))
