"""Chinese rules for what somebody likes, avoids and prefers, and how he wants to be answered."""

from __future__ import annotations

import re
from collections.abc import Callable

from memsidecar.domain.attributes import qualifier_of
from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction.chinese_changes import MEAL, OF_NOW, given_up
from memsidecar.domain.extraction.chinese_subject import Subject
from memsidecar.domain.extraction.english_changes import prefers_no_more
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.values import han_items, han_trimmed

Found = re.Match[str]
Rule = Callable[[Reading, Subject, Found], None]
# What is liked is in the talk, or is the one who is talked to.
_DEICTIC = re.compile(
    r"(?:第[一二三四五六七八九十\d]|选项|方案|你|您|他|她|它|这|那|我|的|什么|谁|怎|哪|的$|\ufffc"
    r"|上了?你|一下|得)|.{0,20}(?:你|您)(?:的|说|写|这|们|$)"
)
_STRENGTH = (
    r"(?P<strong>特别|非常|超级?|最|很|真的?|太|十分|极其|尤其|挺|比较|蛮|还挺|有点|一直都?|从小就?|也"
    r"|都|就|其实|真心|是真的?)*"
)
_POLARITY = {
    "喜欢": 0.7,
    "喜爱": 0.8,
    "热爱": 1.0,
    "酷爱": 1.0,
    "钟爱": 1.0,
    "爱": 0.9,
    "爱好": 0.7,
    "享受": 0.7,
    "迷上": 0.8,
    "爱上": 0.9,
    "喜欢上": 0.8,
    "沉迷": 0.8,
    "讨厌": -1.0,
    "厌恶": -1.0,
    "反感": -0.8,
    "受不了": -1.0,
    "忍受不了": -1.0,
    "忍不了": -1.0,
    "害怕": -0.7,
    "怕": -0.6,
    "痛恨": -1.0,
    "恨": -0.9,
    "嫌弃": -0.7,
    "抵触": -0.7,
    "腻了": -0.6,
    "不吃": -0.8,
    "不喝": -0.8,
    "不碰": -0.8,
    "不能吃": -0.8,
    "不能喝": -0.8,
    "吃不了": -0.8,
    "喝不了": -0.8,
    "改喝": 0.6,
    "改吃": 0.6,
    "恨死": -1.0,
    "讨厌死": -1.0,
    "爱死": 1.0,
    "避免": -0.8,
    "拒绝": -0.9,
    "戒": -0.8,
    "戒掉": -0.8,
}
_VERBS = "|".join(sorted(_POLARITY, key=len, reverse=True))
_LIKES = re.compile(
    rf"{_STRENGTH}(?P<not>不再|再也不|已经不|不太|不怎么|不是很|并不|从来不|从不|不"
    rf"|没那么)?{_STRENGTH.replace('strong', 'strong2')}(?P<verb>{_VERBS})了?(?P<what>[^！？]{{1,60}})"
)
_PREFERS = re.compile(
    r"(?:更|比较|还是更|会更)(?:喜欢|爱|偏爱|倾向于?)(?P<what>[^，。！？]{1,30})|(?:宁愿|宁可|偏爱"
    r"|倾向于)(?P<rather>[^。！？]{1,30})"
)
_FAVOURITE = re.compile(
    r"(?:现在)?最(?:喜欢|爱|喜爱)的(?P<of>[^，。！？是\s]{1,10})(?P<now>现在|变成|已经)?(?:是|变成了"
    r"|叫)(?P<what>[^，。！？]{1,30})"
)
_INTERESTED = re.compile(
    r"对(?P<what>[^，。！？]{1,20}?)(?:很|非常|特别|比较|挺|一直)?(?P<not>不|没)?有?(?P<sign>感兴趣"
    r"|有兴趣|兴趣|反感)(?:了)?(?=\s*(?:$|[，。！!,]))"
)
_NO_MORE = re.compile(r"不再|再也不|已经不|了\s*$|戒|爱上|迷上|喜欢上")
_NEWLY = frozenset(("戒", "戒掉", "爱上", "迷上", "喜欢上", "改喝", "改吃"))
_OF_A_MEAL = frozenset(("不吃", "不喝", "不碰", "不能吃", "不能喝"))
_STYLE = re.compile(
    r"\W*(?:从现在起|从今以后|今后|以后|之后|往后|接下来)(?:都|请|你)*[，,\s]*(?P<wish>(?:请|回答|回复"
    r"|不要|别|用|尽量|都|每次|给我|跟我|和我|说话|叫我)[^\n。！？]{2,120})"
    r"|\W*(?:请|麻烦)(?P<always>(?:始终|总是|一直|永远|每次都?)[^\n。！？]{2,120})"
)


def _likes(reading: Reading, subject: Subject, found: Found) -> None:
    verb = found.group("verb")
    negated = found.group("not") is not None
    if (verb == "爱" and re.match(r"好|情|人|心|护|国|了", found.group("what"))) or (
        verb == "怕" and re.match(r"是|不", found.group("what"))
    ):
        return
    if verb == "戒" and found.group("what")[0] in "不得没":
        return
    if verb in _OF_A_MEAL and (
        OF_NOW.search(reading.text, reading.start, found.start("what"))
        or (found.group().rstrip().endswith("了") and MEAL.match(found.group("what")))
    ):
        return
    polarity = _POLARITY[verb]
    if negated:
        polarity = -0.6 if polarity > 0 else 0.3
    elif found.group("strong") in ("特别", "非常", "超", "超级", "最", "太", "十分", "极其"):
        polarity = 1.0 if polarity > 0 else -1.0
    manner = subject.manner
    if subject.was:
        polarity, manner = (-0.4 if polarity > 0 else 0.4), Manner.CHANGED
    elif (
        _NO_MORE.search(found.group("not") or "")
        or verb in _NEWLY
        or ((negated or verb[0] == "不") and "已经" in reading.text[reading.start : subject.end])
        or ((negated or verb in _OF_A_MEAL) and found.group().rstrip().endswith("了"))
    ):
        manner = Manner.CHANGED
    known = len(reading.claims)
    _each(reading, Span(*found.span("what")), polarity, manner)
    if verb[0] == "戒":
        for claim in reading.claims[known:]:
            given_up(reading, claim.value)


def _each(reading: Reading, what: Span, polarity: float, manner: Manner) -> None:
    span = han_trimmed(reading.text, what.start, what.end)
    if span is None or _DEICTIC.match(reading.text[span.start : span.end]):
        return
    for part in han_items(reading.text, span):
        if not _DEICTIC.match(reading.text[part.start : part.end]):
            reading.add("likes", part, polarity=polarity, manner=manner)
            if polarity < 0 and manner is Manner.CHANGED:
                prefers_no_more(reading, part, polarity)


_NOW = re.compile(r"现在|如今")


def _prefers(reading: Reading, subject: Subject, found: Found) -> None:
    group = "what" if found.group("what") else "rather"
    span = han_trimmed(reading.text, *found.span(group))
    if span is not None and not _DEICTIC.match(reading.text[span.start : span.end]):
        changed = subject.manner is Manner.STATED and _NOW.search(reading.text, reading.start, found.end())
        reading.add("prefers", span, polarity=0.8, manner=Manner.CHANGED if changed else subject.manner)


def _favourite(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if span is None or found.group("of") in ("就", "事", "一点", "部分"):
        return
    manner = Manner.CHANGED if found.group("now") or "变成" in found.group() else subject.manner
    of = qualifier_of(found.group("of").rstrip("就还"))
    reading.add(
        f"favourite:{of}", span, polarity=-0.4 if subject.was else 1.0, manner=Manner.CHANGED if subject.was else manner
    )


def _interested(reading: Reading, subject: Subject, found: Found) -> None:
    polarity = -0.8 if found.group("sign") == "反感" else -0.5 if found.group("not") else 0.6
    _each(reading, Span(*found.span("what")), polarity, subject.manner)


def answer_style(reading: Reading) -> bool:
    """How the speaker wants to be answered from now on: all wishes said at once are one; whether there was one."""
    found = _STYLE.match(reading.text, reading.start, reading.end)
    if found is None:
        return False
    span = Span(*found.span("wish" if found.group("wish") else "always"))
    reading.add("answer_style", span, polarity=1.0)
    return True


_GIVEN_UP = re.compile(
    r"(?:已经|终于)?把(?P<what>[^，。！？\s我你他]{1,8}?)(?:给|都)?戒(?:掉)?了(?=\s*(?:$|[，。！!,]))"
)


def _gives_up(reading: Reading, subject: Subject, found: Found) -> None:
    what = Span(*found.span("what"))
    _each(reading, what, -0.8, Manner.CHANGED)
    given_up(reading, found.group("what"))


LIKES: tuple[tuple[re.Pattern[str], Rule], ...] = (
    (_GIVEN_UP, _gives_up),
    (_FAVOURITE, _favourite),
    (_PREFERS, _prefers),
    (_INTERESTED, _interested),
    (_LIKES, _likes),
)
