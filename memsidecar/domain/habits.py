"""Habits and tastes made comparable: "drink coffee every morning" and "drinking coffee" name one thing to do or to
leave, 喝咖啡 and 咖啡 one thing to like, and two kinds of seats are two answers to one question."""

from __future__ import annotations

import re

from memsidecar.domain.text import HAN, normalise
from memsidecar.domain.tokens import tokens

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_OFTEN = re.compile(
    rf"\b(?:every|each)\s(?:single\s|other\s)?(?:\w+)|\b(?:once|twice|\w+\stimes)\s(?:a|per)\s\w+"
    rf"|\bon\s(?:{_DAY}|weekends|weekdays)|\b(?:in\sthe\s)?(?:mornings?|evenings?|afternoons?|nights?)\b|\bdaily\b",
    re.IGNORECASE,
)
_HAN_OFTEN = re.compile(
    r"每(?:个?(?:周|星期)[一二三四五六日天末]|逢周[一二三四五六日末]|天|日|周|个?月|年|晚|早)"
    r"|(?:早上|上午|中午|下午|晚上|早晚|睡前|饭后)|[都也会要去]|坚持|[一两二三四五六七八九十\d]+[次杯遍回]"
)
_HAN_WEEKDAY = re.compile(r"(?:周|星期)[一二三四五六]")
# Going somewhere is not what tells one habit from another: "go running" and "running".
_GOES = frozenset(tokens("go goes going"))
_IS_HAN = re.compile(f"[{HAN}]")
_CONSUMES = re.compile(
    rf"(?:(?:to\s)?(?:eat|drink|play)(?:ing)?\s(?:an?\s|the\s)?|[吃喝打踢弹](?=[{HAN}A-Za-z]))(?=\S)",
    re.IGNORECASE,
)
_PREFERS = re.compile(r"(?:\bprefers?\s(?:an?\s|the\s|my\s)?|(?:更(?:喜欢|爱)|偏爱)[坐住吃喝看听]?)$", re.IGNORECASE)
_TWO_WORDS = re.compile(r"(?!\w+ing\b|to\b|not\b|when\b|both\b)[a-z][\w-]+\s(?P<kind>[a-z]{3,})", re.IGNORECASE)
_HAN_KIND = re.compile(rf"[{HAN}]{{2,8}}的(?P<kind>[{HAN}]{{2,4}})")


def on_weekday(text: str) -> bool:
    """Whether a Chinese habit is of a day of the week, whose number counts nothing."""
    return _HAN_WEEKDAY.search(text) is not None


def habit_key(text: str) -> str:
    """What is done of a habit, without how often."""
    if _IS_HAN.search(text):
        return "".join(normalise(_HAN_OFTEN.sub("", text)).split())
    stems = [stem for stem in tokens(_OFTEN.sub(" ", text)) if stem not in _GOES]
    return " ".join(stems) or normalise(text)


def thing_liked(text: str) -> str:
    """The thing that is liked, without eating, drinking or playing it."""
    return _CONSUMES.sub("", text, count=1) if _CONSUMES.match(text) else text


def kind_preferred(topic: str, statement: str) -> str:
    """Of what kind the thing is that a statement prefers ("window seats" are seats); empty when it does not say."""
    at = statement.find(topic)
    return kind_key(kind_of(topic)) if at >= 0 and _PREFERS.search(statement[:at]) else ""


def kind_key(kind: str) -> str:
    """A kind made comparable: "seat" and "seats"."""
    return kind if _IS_HAN.search(kind) else " ".join(tokens(kind))


def kind_of(topic: str) -> str:
    """Of what kind a thing is that has two words: "window seats" are seats. Empty for others."""
    if found := _TWO_WORDS.fullmatch(topic):
        return found.group("kind").lower()
    found = _HAN_KIND.fullmatch(topic)
    return found.group("kind") if found else ""
