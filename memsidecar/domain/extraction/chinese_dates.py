"""Chinese rules for what is when: dates, deadlines, plans, goals, events, habits, exchanges."""

from __future__ import annotations

import re

from memsidecar.domain.attributes import qualifier_of
from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import chinese_words as words
from memsidecar.domain.extraction.chinese_subject import Subject
from memsidecar.domain.extraction.chinese_words import RELATIONS
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import CHINESE_TIME, chinese_time
from memsidecar.domain.extraction.values import han_trimmed

_LEAD = re.compile(r"(?:其实|不对|不是|更正|哦|嗯|对了|现在|目前|我们?的?|咱们的?|这个?|那个?|[\s，,。！!])+")
_CORRECTS = re.compile(r"^\W*(?:其实|不对|不是|更正)")
_MOVED = (
    r"(?:被|已经?|又|临时|现在)*(?:改到|改成|改为|推迟到|推到|延期到|延到|延后到|提前到|调到|调整到|挪到|延长到)了?"
)
_IS = r"(?:现在)?(?:就)?(?:是|在|定在|定于|安排在|为)了?"
_CLOCKED = rf"(?:{CHINESE_TIME}|(?:早上|上午|中午|下午|晚上)?[\d一二三四五六七八九十]{{1,3}}点半?)"
_DEADLINE = re.compile(
    r"(?P<of>[^，。！？\s是的]{1,12}?)?的?(?:截止日期|截止时间|截止日|最后期限|deadline"
    rf"|ddl)(?:(?P<moved>{_MOVED})|{_IS})\s*(?P<date>{_CLOCKED})",
    re.IGNORECASE,
)
_DATE = re.compile(
    rf"(?P<of>[^，。！？\s是的在了]{{0,8}}?(?:{words.EVENTS}))(?:时间"
    rf"|日期)?(?:从[^，。]{{2,12}}?)?(?:(?P<moved>{_MOVED})"
    rf"|{_IS})\s*(?P<date>{_CLOCKED})(?=\s*(?:$|[，。！!,]|了|举行|开始|举办))"
)
_BEST = re.compile(
    r"(?:我的)?(?P<of>[^，。！？\s的]{1,10}?)的?(?:成绩|最好成绩|最佳成绩|个人最好|纪录|记录"
    r"|PB)(?P<now>现在|已经|目前|提高到|提升到|刷新到)?了?(?:是|为"
    r"|到)?\s*(?P<value>\d{1,3}:\d\d(?::\d\d)?|\d+分\d*秒?|\d+小时\d*分?(?:\d+秒)?|\d+秒\d*)"
)
_CHANGED_TO = re.compile(
    r"(?:我的?)?(?:把(?:我的)?)?(?P<of>[^，。！？\s把]{1,8}?)(?:已经|刚刚?|最近|也)?(?:换成|换了|换到"
    r"|改用|换为)了?(?P<what>[^，。！？\s]{1,16})(?=\s*(?:$|[，。！!,]))"
)
_NUMBERED = re.compile(r"(?P<mail>邮箱|邮件地址)|手机号码?|电话号?码?|号码|联系电话")
_IS_NUMBER = re.compile(r"[\w.+-]{1,64}@[\w.-]{3,100}|\+?\d[\d-]{5,20}\d")
_FAVOURITE_KIND = re.compile(r"最(?:喜欢|爱)的(?P<of>.+)")
_PLAN = re.compile(r"(?:打算|计划|准备|决定|预计)(?!是|书|表|好了|中|睡觉|休息|吃饭|出门)(?P<what>[^，。！？]{2,40})")
_GOAL = re.compile(r"的?(?:目标|梦想|愿望|理想)(?:是|就是)(?P<what>[^，。！？]{2,40})")
_WANTS = re.compile(
    r"(?:很|一直|特别)?想(?P<what>(?:学(?!习一下)|成为|考|当(?!面)|开一家|开个|买[一房车]|减肥|环游"
    r"|移民|创业)[^，。！？]{1,30})"
)
_ROUTINE = re.compile(
    r"(?P<what>每(?:天|周|个?月|年|晚|早|个?周[一二三四五六日末]|逢周[一二三四五六日末]"
    r"|星期[一二三四五六日天])[^，。！？]{2,30})"
)
_DONE = re.compile(r"了|过|完")
_NOT_DONE = re.compile(r"[不没]|要|会|想|打算|计划|准备|很|觉得|感觉|心情|太|是|问|说")


def dated(reading: Reading) -> bool:
    """What is of things rather than of people: deadlines, dates, best times, exchanges; whether it was read."""
    text, at, end = reading.text, reading.start, reading.end
    manner = Manner.STATED
    if lead := _LEAD.match(text, at, end):
        if _CORRECTS.match(lead.group()):
            manner = Manner.CORRECTED
        at = lead.end()
    if found := _DEADLINE.match(text, at, end):
        of = qualifier_of((found.group("of") or "").removeprefix("项目的"))
        _date(reading, f"deadline:{of}" if of else "deadline", found, manner)
    elif found := _DATE.match(text, at, end):
        _date(reading, f"date:{qualifier_of(found.group('of'))}", found, manner)
    elif found := _BEST.match(text, at, end):
        changed = Manner.CHANGED if found.group("now") else manner
        reading.add(f"personal_best:{qualifier_of(found.group('of'))}", Span(*found.span("value")), manner=changed)
    elif (
        (found := _CHANGED_TO.match(text, at, end))
        and text[reading.start : at].find("我") != -1
        and not re.search(r"[他她你说]", found.group("of"))
        # Somebody's move ("我老公换到美团了") is his own.
        and found.group("of") not in RELATIONS
    ):
        if (span := han_trimmed(text, *found.span("what"))) is not None:
            of = qualifier_of(found.group("of"))
            if number := _NUMBERED.fullmatch(of):
                attribute = "email" if number.group("mail") else "phone"
                if _IS_NUMBER.fullmatch(text, span.start, span.end):
                    reading.add(attribute, span, manner=Manner.CHANGED)
            elif kind := _FAVOURITE_KIND.search(of):
                reading.add(f"favourite:{kind.group('of')}", span, polarity=1.0, manner=Manner.CHANGED)
            else:
                reading.add("uses" if of.startswith("从") else f"uses:{of}", span, manner=Manner.CHANGED)
    else:
        return False
    return True


def _date(reading: Reading, attribute: str, found: re.Match[str], manner: Manner) -> None:
    if found.group("moved") and manner is Manner.STATED:
        manner = Manner.CHANGED
    reading.add(attribute, Span(*found.span("date")), manner=manner, timed=False)


_WILL = re.compile(r"(?:就)?(?:要|会|将)(?P<what>(?:去|参加|飞|搬|考|结婚|出差|开始|做手术|回|毕业)[^，。！？]{0,30})")


def happened(reading: Reading, subject: Subject) -> bool:
    """Plans, goals, habits and what was done in a named time; whether one was read."""
    text = reading.text
    if subject.relation or subject.was or not subject.own:
        return False
    at, end = subject.at, subject.end
    reading.time = chinese_time(text, reading.start, end)
    if found := _PLAN.match(text, at, end):
        return _add(reading, "plan", *found.span("what"))
    if found := _GOAL.match(text, at, end):
        return _add(reading, "goal", *found.span("what"))
    if found := _WANTS.match(text, at, end):
        return _add(reading, "goal", *found.span("what"))
    if found := _ROUTINE.match(text, at, end):
        reading.time = None
        return not _NOT_DONE.search(found.group("what")) and _add(reading, "routine", *found.span("what"))
    # The time may stand before the subject or after it, among the adverbs.
    if reading.time is None or reading.time.span.end > at:
        return False
    if found := _WILL.match(text, at, end):
        return _add(reading, "plan", *found.span("what"))
    rest = text[at:end]
    if _DONE.search(rest) and not _NOT_DONE.search(rest) and 3 <= len(rest) <= 40:
        return _add(reading, "event", at, end)
    return False


def _add(reading: Reading, attribute: str, start: int, end: int) -> bool:
    time = reading.time
    if time is not None and time.outer.start == start:
        start = time.outer.end
    span = han_trimmed(reading.text, start, end)
    if span is not None and attribute == "event":
        # "把钱包丢了": no measure word stands there.
        span = Span(start, span.end)
    if span is None or re.match(r"(?:[用看做吃写学改])?(?:[你他她它这那]|一下)", reading.text[span.start :]):
        return False
    reading.add(attribute, span)
    return True
