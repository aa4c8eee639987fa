"""Chinese sentences as clauses, and whose each is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction.chinese_words import RELATIONS
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import CHINESE_TIME
from memsidecar.domain.names import NOT_GIVEN, NOT_NAMES, SURNAMES
from memsidecar.domain.text import HAN

_LONGEST_CLAUSE = 120
_BORDER = re.compile(
    r"(?:[，,；;（）()]|[：:](?!\d)|(?<=[^\W\da-zA-Z])\s+(?=[^\W\da-zA-Z]))+(?:(?:而且|并且|但是?|不过|然后"
    r"|所以|因为|另外|同时|还有|以及|可是|只是|毕竟)(?=我|现在|也))?|(?<=[^\s，])(?=(?:但是?|不过|而且"
    r"|因为|所以)我)"
)
_ASKS = re.compile(
    r"吗|呢\s*$|什么|哪[里儿个家些种位天年]?|谁|多少|几[个点岁次]|怎么|怎样|为何|如何|是不是|有没有"
    r"|(?<!不)对不对|能不能|可不可以|该不该|要不要|会不会|好不好|[喜不]不喜欢|还是(?!会|要|很|不|得|挺"
    r"|比较|更)|啥|来着|多大|是否|咋"
)
_TAG = re.compile(r"^(?:对吧|是吧|对吗|是吗|对不对|没错吧|对么|对不)\W*$")
_LEAD = re.compile(
    r"(?:其实|不对不?|不是(?=，|,|的)|哦|噢|嗯|啊|对了|顺便(?:说|提)一?下?|另外|还有|而且|并且|但是?"
    r"|不过|所以|因为|由于|你好|您好|大家好|嗨|好的|更正(?:一下)?|纠正(?:一下)?|说实话|老实说|坦白说"
    r"|总之|毕竟|然后|当然|是的"
    r"|对(?=[，,])|请记住|记住|记得|告诉你|跟你说|说一下|补充一下|抱歉|不好意思|作为[^，,]{1,8}|目前"
    r"|现在|如今|最近|[\s，,。！!、])+"
)
_CORRECTS = re.compile(r"^(?:其实|不对|不是|更正|纠正)|不对|说错了?|搞错了?|记错了?|写错了?|更正|纠正")
_NOT_IN_NAMES = (
    "现在|今[年天]|去年|前[年天些]|上[周个]|下[周个]|刚|一直|以前|目前|最近|喜欢|讨厌|超|特别|非常"
    "|真的|平时|每|正在|终于|昨|后来|周[一二三四五六日末]"
    "|住|搬|学|做|当|姓|年|爱|过敏|已经|曾|明[天年晚]"
)
_NAME_CHARACTER = rf"(?:(?![{NOT_GIVEN}]|{_NOT_IN_NAMES})[{HAN}])"
NAME = rf"(?:{_NAME_CHARACTER}{{2,4}}|[A-Z][A-Za-z]*(?:[ ·][A-Z][A-Za-z]*){{0,2}})"
_RELATION = "|".join(sorted(RELATIONS, key=len, reverse=True))
_SUBJECT = re.compile(
    rf"(?P<own>(?:我们?|咱们?|俺|用户)(?:家|的)?(?P<relation>{_RELATION}))(?P<name>{NAME})?(?=也|都|[^，。]|$)"
    rf"|(?P<self>我们|咱们|我|咱|俺|本人|(?:该|这位)?用户)(?:的)?(?!们|国|校|司|方)"
)
_NAME_FOLLOWED = re.compile(r"(?:现在|目前|去年|今年|前年|最近)?(?:住|喜欢|讨厌|爱|在|搬|是|对|也|今年|\d|有|患|姓|的)")
_ADVERB = re.compile(
    r"(?:现在|目前|如今|一直|也|都|其实|真的|就|还|又|刚刚?|刚才|已经|最近|近来|后来|终于|平时|平常"
    rf"|通常|经常|常常|从小|本来就|确实|实在|真|个人|自己|今年|主要|基本上?|{CHINESE_TIME}(?:起|开始"
    rf"|以来|的时候)?|从{CHINESE_TIME}(?:起|开始)?)"
)
_BEFORE_NOW = re.compile(r"以前|曾经?|过去|原来|从前|之前|原先")
_ADJUNCTS = re.compile(rf"(?:{_ADVERB.pattern}|以前|曾经?|过去|原来|从前|之前|原先|[\s，,])*")
HAN_NOTE = re.compile(r"\s*(?:该|这位)?用户")
"""How a note about a user begins."""
_OTHERS = re.compile(r"(?:他|她|它|你|您|大家|别人|有人|人们|很多|许多|小[明红李王张]|谁|这|那|请|帮|给|让|把|用|写)")


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose a clause is: empty text for the speaker. `at` is where its predicate begins."""

    text: str
    at: int
    end: int
    relation: str = ""
    name: Span | None = None
    was: bool = False
    """It says how it was: 以前, 曾经."""
    manner: Manner = Manner.STATED
    start: int = 0
    """Where the clause begins in which the subject is written."""
    whose: Span | None = None
    """Where the subject is written, unless it is the speaker."""
    own: bool = True
    """The subject is written in this clause, not in one before it."""


def clauses(text: str, start: int, end: int, *, asked: bool) -> Iterator[tuple[int, int]]:
    """The clauses of a sentence that state something."""
    borders = [found.span() for found in _BORDER.finditer(text, start, end)]
    parts = [
        (a, b) for a, b in zip([start, *(b for _, b in borders)], [*(a for a, _ in borders), end], strict=True) if a < b
    ]
    if any(_TAG.match(text[a:b]) for a, b in parts[1:]):
        return
    if asked:
        # What is asked is said last.
        parts = parts[:-1]
    for a, b in parts:
        yield a, min(b, a + _LONGEST_CLAUSE)


def asks(text: str, start: int, end: int) -> bool:
    """Whether a clause asks something."""
    return _ASKS.search(text, start, end) is not None


def corrects(text: str, start: int, end: int) -> bool:
    """Whether a clause takes back what was said: what comes after it is a correction."""
    return _CORRECTS.search(text[start:end]) is not None


def subject_of(text: str, start: int, end: int, before: Subject | None) -> Subject | None:
    """Whose a clause is, or None when it is nobody's that is known."""
    at = start
    manner = Manner.STATED
    if lead := _LEAD.match(text, start, end):
        at = lead.end()
        if _CORRECTS.search(lead.group()):
            manner = Manner.CORRECTED
    before_subject = _ADJUNCTS.match(text, at, end)
    first = before_subject.end() if before_subject else at
    found = _SUBJECT.match(text, first, end)
    was = _BEFORE_NOW.search(text, at, first) is not None
    if found is None:
        if before is None or _OTHERS.match(text, first, end):
            return None
        return replace(before, at=first, end=end, was=was, manner=manner, own=False, name=None)
    if found.group("self") is not None:
        if found.group("self").endswith("用户") and not HAN_NOTE.match(text):
            # Users in general.
            return None
        return _with_predicate(text, Subject("", found.end(), end, was=was, manner=manner, start=start))
    name = Span(*found.span("name")) if found.group("name") else None
    stop = found.end()
    if name is not None:
        name = _surely_named(text, name, end)
        stop = name.end if name is not None else found.end("relation")
    whose = text[name.start : name.end] if name is not None else found.group("own")
    place = name if name is not None else Span(*found.span("own"))
    relation = RELATIONS[found.group("relation")]
    return _with_predicate(text, Subject(whose, stop, end, relation, name, was, manner, start, place))


def _surely_named(text: str, name: Span, end: int) -> Span | None:
    """The name after a relation, as long as what follows it can follow a name; the shortest such one."""
    for stop in range(name.start + 2, name.end + 1):
        if _NAME_FOLLOWED.match(text, stop, end):
            return Span(name.start, stop)
    return None


def _with_predicate(text: str, subject: Subject) -> Subject:
    adjuncts = _ADJUNCTS.match(text, subject.at, subject.end)
    if adjuncts is None:
        return subject
    was = subject.was or _BEFORE_NOW.search(adjuncts.group()) is not None
    return replace(subject, at=adjuncts.end(), was=was)


_CALLED = re.compile(rf"(?:的名字)?(?:名?叫做?|名字是|是)(?P<name>{NAME})\s*(?:$|[，。！!,])")


_SURNAMED = re.compile(rf"姓(?P<name>[{SURNAMES}])\s*(?:$|[，。！!,])")


def introduces_relation(reading: Reading, subject: Subject) -> bool:
    """Adds who is somebody's what (我老婆叫小丽); whether the clause says nothing else."""
    if not subject.relation or not subject.own:
        return False
    kind = "" if subject.relation == "pet" else "person"
    if subject.name is not None:
        reading.add(subject.relation, subject.name, manner=subject.manner, timed=False, entity_type=kind)
        return False
    found = _CALLED.match(reading.text, subject.at, subject.end)
    if found is None:
        surname = _SURNAMED.match(reading.text, subject.at, subject.end)
        if surname is None:
            return False
        found = surname
    name = found.group("name")
    if "是" in found.group()[:2] and name[0] not in SURNAMES and not name.isascii():
        return False
    if name[:2] in NOT_NAMES:
        return False
    reading.add(subject.relation, Span(*found.span("name")), manner=subject.manner, timed=False, entity_type=kind)
    return True
