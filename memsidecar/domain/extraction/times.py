"""Where a clause names a time, and what the time is of it. What time it is, is found out later, by a service."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memsidecar.domain.claims import Span, TimeRole

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?"
    r"|Dec(?:ember)?)\b\.?"
)
_WEEKDAY = (
    r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:(?<=[Ll]ast\ )|(?<=[Nn]ext\ )|(?<=[Tt]his\ )"
    r"|(?<=[Oo]n\ ))(?:Mon|Tues?|Wed|Thu|Thurs|Fri|Sat|Sun)\b)"
)
_SEASON = r"(?:spring|summer|fall|autumn|winter)"
_NUMBER = r"(?:\d{1,3}|a|an|one|two|three|four|five|six|seven|eight|nine|ten|a\ few|a\ couple\ of|several)"
_UNIT = r"(?:days?|weeks?|months?|years?|hours?|decades?)"
_CLOCK = r"(?:\d{1,2}(?::\d\d)?\s?[ap]\.?m\.?(?!\w)|\d{1,2}:\d\d(?!\d)|noon|midnight)"
_ENGLISH = re.compile(
    rf"""(?<![\w-])(?:(?P<role>(?i:since|from|starting|as\ of|effective|until|till|through|by|before
  |after|on|in|at|around|for|back\ in|of))\ (?:the\ )?)?
    (?P<time>
      (?:early\ |late\ |mid-?|the\ end\ of\ |the\ beginning\ of\ )?
      (?i:last|next|this|this\ past|this\ coming|the\ past|the\ last|the\ next)\ (?:night|weekend|week
        |month|year|{_SEASON}|semester|quarter|{_WEEKDAY}|{_MONTH})(?![\w-])
        (?:\ (?:morning|afternoon|evening|night))?
    | (?i:yesterday|today|tomorrow|tonight)(?:\ (?:morning|afternoon|evening|night))?
      |(?i:the)\ other\ day|(?i:the)\ day\ (?:before\ yesterday|after\ tomorrow)
    | (?i:{_NUMBER})\ {_UNIT}\ (?:ago|back|from\ now)
    | (?<=(?i:in)\ ){_NUMBER}\ {_UNIT}(?!\w)
    | (?:early\ |late\ |mid-?)?{_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?(?:,?\ \d{{4}}\b)?(?!\d)
    | \d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}(?:,?\ \d{{4}}\b)?
    | {_MONTH},?\ (?:19|20)\d\d\b
    | (?<=(?i:in)\ )(?:early\ |late\ |mid-?)?{_MONTH}(?!\w) | (?<=(?i:since)\ ){_MONTH}
      | (?<=(?i:from)\ ){_MONTH} | (?<=(?i:until)\ ){_MONTH} | (?<=(?i:by)\ ){_MONTH}
    | (?:19|20)\d\d-\d\d(?:-\d\d)? | \d{{1,2}}/\d{{1,2}}/\d{{2,4}}(?!\d) | (?:(?<=(?i:on)\ )
      |(?<=(?i:by)\ ))\d{{1,2}}/\d{{1,2}}(?!\d)
    | (?:(?<=(?i:in)\ )|(?<=(?i:since)\ )|(?<=(?i:from)\ )|(?<=(?i:until)\ )|(?<=(?i:by)\ )
      |(?<=(?i:of)\ ))(?:(?:early|late)\ )?(?:19|20)\d\d(?!\d)
    | (?<=(?i:in)\ ){_SEASON}(?:\ of\ \d{{4}})?(?!\w) | (?<=(?i:in\ the)\ ){_SEASON}(?:\ of\ \d{{4}})?(?!\w)
    | {_WEEKDAY}(?:\ (?:morning|afternoon|evening|night))?(?:\ at\ {_CLOCK})?(?![\w'])
    | {_CLOCK}
    | (?:Christmas|Thanksgiving|Halloween|Easter)(?:\ (?:Eve|Day))?(?!\w)
    )""",
    re.VERBOSE,
)
_HAN_NUMBER = r"[\d一二两三四五六七八九十百〇零]"
_HAN_WEEK = r"(?:周|星期|礼拜)[一二三四五六日天末]"
CHINESE_TIME = (
    rf"(?:(?:{_HAN_NUMBER}{{2,4}}年)(?:{_HAN_NUMBER}{{1,3}}月(?:份|底|初|中)?)?(?:{_HAN_NUMBER}{{1,3}}[日号])?"
    rf"|(?:今年|明年|去年|前年|后年)?{_HAN_NUMBER}{{1,3}}月(?:份|底|初|中旬?)?(?:{_HAN_NUMBER}{{1,3}}[日号])?"
    rf"|(?:今年|明年|去年|前年|后年)(?:春天|夏天|秋天|冬天|年初|年底|暑假|寒假|国庆|春节|夏|冬|春|秋|底|初)?"
    r"|(?:(?:上上|下下|上|下|这|本)个?(?:周|星期|礼拜)[一二三四五六日天末]?|(?:上上|下下|上|下|这"
    rf"|本)个?月(?:底|初)?(?:{_HAN_NUMBER}{{1,3}}[日号])?|{_HAN_WEEK})"
    rf"(?:早上|上午|中午|下午|晚上)?(?:{_HAN_NUMBER}{{1,3}}点半?)?"
    r"|(?:昨天|今天|明天|后天|前天|大前天|昨晚|今晚|明晚|昨日|今日|明日|前几天|前不久|前段时间)(?:早上"
    rf"|上午|中午|下午|晚上)?(?:{_HAN_NUMBER}{{1,3}}点半?)?"
    rf"|(?:{_HAN_NUMBER}{{1,4}}|几|半)个?(?:天|周|星期|月|年|小时)(?:之?前|之?后|以前|以后)"
    rf"|(?:春节|国庆节?|中秋节?|元旦|圣诞节?|五一|十一|寒假|暑假|年底|年初|月底|月初)"
    rf"|\d{{4}}-\d\d?-\d\d?)"
)
# "今年三十岁" says how old somebody is, and nothing of when the rest of the sentence is true.
_OF_AGE = rf"今年(?:已经|刚刚?|才|快|满|都|就|也)?{_HAN_NUMBER}{{1,3}}(?:岁|多?了?\s*(?:$|[，。！!,]))"
_CHINESE = re.compile(rf"(?P<from>从|自从?)?(?P<time>(?!{_OF_AGE}){CHINESE_TIME})(?P<end>起|开始|以来|为止)?")
_FROM = frozenset(("since", "from", "starting", "as of", "effective"))
_UNTIL = frozenset(("until", "till", "through"))


@dataclass(frozen=True, slots=True)
class TimeFound:
    """`span` is the time itself; `outer` has the word before it, which belongs to no value, with it."""

    span: Span
    outer: Span
    role: TimeRole


def english_time(text: str, start: int, end: int) -> TimeFound | None:
    """The first time that English names in a part of a text."""
    found = _ENGLISH.search(text, start, end)
    if found is None:
        return None
    word = (found.group("role") or "").lower()
    role = TimeRole.FROM if word in _FROM else TimeRole.UNTIL if word in _UNTIL else TimeRole.AT
    return TimeFound(Span(*found.span("time")), Span(*found.span()), role)


def chinese_time(text: str, start: int, end: int) -> TimeFound | None:
    """The first time that Chinese names in a part of a text."""
    found = _CHINESE.search(text, start, end)
    if found is None:
        return None
    after = found.group("end") or ""
    role = TimeRole.UNTIL if after == "为止" else TimeRole.FROM if after or found.group("from") else TimeRole.AT
    return TimeFound(Span(*found.span("time")), Span(*found.span()), role)
