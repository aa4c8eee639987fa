"""Quantities that a Chinese clause states: 覆盖率提高到78%, 提交了165次, 截止日期改到3月3日."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from memsidecar.domain.claims import Claim, Manner, Span
from memsidecar.domain.extraction.numbers import MOST, NEAR
from memsidecar.domain.extraction.prose import Clause, Mood
from memsidecar.domain.memory import Kind
from memsidecar.domain.quantity_slots import GOAL_ZH
from memsidecar.domain.text import HAN

_UNIT = "毫秒|秒|分钟|小时|个小时|天|周|个星期|个月|年|公里|千米|米|公斤|斤|千克|元|块钱|块|万元|万|岁|%|％"
_MEASURE = "次|个|本|篇|条|位|名|人|场|页|题|道|份|件|家|项|门|只|张|套|台|辆|步|集|部|首"
_NUMBER = r"(?:\d[\d,]{0,12}(?:\.\d{1,4})?|[一二两三四五六七八九十百千]{1,5})"
_QUANTITY = re.compile(
    rf"(?P<date>(?:\d{{4}}年)?(?:\d{{1,2}}|[一二三四五六七八九十]{{1,2}})月(?:\d{{1,2}}|[一二三四五六七八九十]{{1,3}})[日号])"
    rf"|(?P<clock>(?:上午|下午|晚上|早上)?\d{{1,2}}点(?:半|\d{{1,2}}分)?)"
    rf"|(?P<measure>{_NUMBER}\s?(?:{_UNIT}))"
    rf"|(?P<count>{_NUMBER}(?P<class>{_MEASURE}))"
)
_HAS_HAN = re.compile(f"[{HAN}]")
_LINK = re.compile(
    r"(?:现在|目前|已经|最近|刚刚|刚|已|只|大约|大概|约|差不多|一共|总共|共|又|都|就|我们|我|还)*"
    r"(?:(?P<changed>提高|提升|增加|增长|上升|涨|降|下降|降低|减少|缩短|延长|改|推迟|提前|调整|更新|达|变|升|延期|换)(?:到了?|至|为|成了?|了)?"
    r"|达到了?|到了?|为|是|有|花了?|用了?|要|等于|完成了?|提交了?|[\u4e00-\u9fff]{1,2}[了过])?(?:大约|大概|约|差不多|已经)?\s*$"
)
_ADVERB = re.compile("现在|目前|已经|最近|刚刚|一共|总共|大约|大概|[刚已只约共又都就还我们]")
_ACT = re.compile(rf"([{HAN}]{{1,2}})[了过]\s*$")
_CHANGED = re.compile(
    "现在|目前|最近|如今|已经|新的?|改|提高|提升|增加|增长|降|减少|缩短|延长|推迟|提前|达到|涨|不再|一共|总共|升到"
)
_GOAL = re.compile("想|希望|目标|打算|计划|争取|要在|准备|至少|不超过|以内|必须")
_PHRASE = re.compile(rf"[{HAN}A-Za-z0-9]{{1,12}}$")
_NOUN = re.compile(rf"[的]?[{HAN}]{{1,6}}")
_LEAD = re.compile(
    "^(?:到|每(?=年$)|我们的|我的|我们|我|你|他|她|它|把|将|的|从|但|不过|现在|目前|最近|已经|而且|因为|所以)+"
)
# Of these one speaks when they are one's own.
_PLAIN = re.compile("截止|期限|面试|会议|考试|预约|手术|婚礼|航班|覆盖率|进度|预算|房租|工资")
_TAIL = re.compile("[了吧啊呢的]+$")
_SUBJECT = re.compile(
    "我的?(?P<who>(?:妈妈|爸爸|妈|爸|母亲|父亲|姐姐|妹妹|哥哥|弟弟|儿子|女儿|老公|老婆|丈夫|妻子|女朋友|男朋友|朋友|同事|老板|奶奶|爷爷|孩子))(?!的)|[他她]们?|[你您]"
)


def may_have_chinese(text: str) -> bool:
    """Whether a text may have a quantity in Chinese."""
    return not text.isascii() and _QUANTITY.search(text) is not None


def chinese_quantities(prose: str, clause: Clause) -> Iterator[Claim]:
    """The claims of one clause, as those of `quantities`."""
    if clause.mood is not Mood.STATES or _HAS_HAN.search(prose, clause.start, clause.end) is None:
        return
    for match in islice(_QUANTITY.finditer(prose, clause.start, clause.end), MOST):
        left = prose[max(clause.start, match.start() - NEAR) : match.start()]
        right = prose[match.end() : min(clause.end, match.end() + NEAR)]
        claim = _claim(prose, clause, match, left, right)
        if claim is not None:
            yield claim


def _claim(prose: str, clause: Clause, match: re.Match[str], left: str, right: str) -> Claim | None:
    # 一个 is an article more often than a number.
    if match.group()[0] == "一" and match["count"]:
        return None
    if _HAS_HAN.search(left) is None or right.startswith(("到", "至", "-", "~", "之")):
        return None
    who = _SUBJECT.match(left)
    changed = _CHANGED.search(left) is not None
    if (who is not None and not who["who"]) or not (clause.own or changed or _PLAIN.search(left)):
        return None
    attribute = _phrase(left, right, counts=match["count"] is not None)
    if not attribute:
        return None
    return Claim(
        Kind.FACT,
        GOAL_ZH + attribute if _GOAL.search(left) else attribute,
        match.group().strip(),
        " ".join(prose[max(clause.start, match.start() - 120) : min(clause.end, match.end() + 80)].split()),
        Span(match.start(), match.end()),
        subject=f"我{who['who']}" if who is not None else "",
        manner=Manner.CHANGED if changed else Manner.STATED,
        confidence=0.85,
    )


def _phrase(left: str, right: str, *, counts: bool) -> str:
    """What the number is of: what stands before it less the words that lead to it, what was done, what is counted."""
    link = _LINK.search(left[-24:])
    rest = left[: len(left) - len(link.group())] if link is not None else left
    topic = _PHRASE.search(_TAIL.sub("", rest.strip()))
    phrase = _LEAD.sub("", topic.group()) if topic is not None else ""
    if not counts:
        return phrase
    noun = _NOUN.match(right.strip())
    counted = _TAIL.sub("", noun.group().lstrip("的")) if noun is not None else ""
    act = _ACT.search(_ADVERB.sub("", link.group())) if link is not None else None
    # Apart, so that what is counted is seen to be a word.
    return f"{phrase}{act.group(1) if act is not None else ''} {counted}".strip()
