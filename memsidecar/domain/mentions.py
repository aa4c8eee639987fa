"""Entities that a text names, by simple deterministic rules: no model, no network, microseconds.

Precise rather than complete: a name missed is found by its words all the same, a false one is an edge that misleads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memsidecar.domain.text import CJK, display_name, entity_key

MAX_MENTIONS = 32
MAX_NAME = 128
# Rules read this much of a long text; its words are indexed in full.
MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in the text. `type` is person, organisation, place, work, handle, url, quantity or empty."""

    name: str
    type: str = ""


_URL = re.compile(r"https?://[^\s<>\"'）)，。、]+[^\s<>\"'）)，。、.,;:!?]")
_HANDLE = re.compile(r"(?<![\w@.])@[A-Za-z0-9_][A-Za-z0-9_.-]{1,38}[A-Za-z0-9_]")
_TITLE = re.compile(r"《([^《》\n]{1,60})》|“([A-Z][^“”\n]{2,60})”|\"([A-Z][^\"\n]{2,60})\"")
_QUANTITY = re.compile(
    r"(?<![\w.])(?:[$€£¥]\s?\d[\d,]*(?:\.\d+)?[kKmM]?|\d[\d,]*(?:\.\d+)?\s?(?:km|kg|lbs?|miles?|mph|GB|MB|TB|%|"
    r"dollars|euros|公里|公斤|千克|元|万元|美元|岁|平方米))(?![\w])"
)
# A run of capitalised words, with the small words that stand inside names.
_CAPITALISED = re.compile(
    r"(?<![\w@/.])((?:[A-Z][\w'’&.-]*[\w])|[A-Z])((?:\s(?:of|the|de|la|van|von|and|&)(?=\s[A-Z])|\s[A-Z][\w'’&-]*)*)"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?。！？:\n\"“(*\-•]\s*)$")
_ZH_ORGANISATION = re.compile(
    rf"([{CJK}A-Za-z0-9]{{2,10}}?(?:大学|学院|中学|小学|公司|集团|银行|医院|研究所|研究院|图书馆|博物馆|餐厅|咖啡馆|俱乐部))"
)
_ZH_PLACE = re.compile(
    r"((?:北京|上海|天津|重庆|广州|深圳|杭州|南京|苏州|成都|武汉|西安|厦门|青岛|大连|长沙|郑州|沈阳|昆明|拉萨|香港|澳门|"
    r"台北|东京|大阪|京都|首尔|纽约|伦敦|巴黎|柏林|里斯本|新加坡|洛杉矶|旧金山|西雅图|波士顿|悉尼|墨尔本|多伦多|温哥华)市?)"
)
_ZH_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘"
    "杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
)
# A full name counts where the grammar around it says so: after an introducing word, or before a verb or title.
_ZH_PERSON = re.compile(
    rf"(?:(?:^|[\s，。！？；：、“”（(]|叫|和|跟|与|同|找|给|问|见|是|请|陪|对|让|被)"
    rf"([{_ZH_SURNAMES}][{CJK}]{{1,2}})(?=说|在|是|的|和|跟|与|去|来|会|要|想|喜欢|告诉|问|也|，|。|！|？|、|$|先生|女士|老师|医生))"
    rf"|([{_ZH_SURNAMES}](?:老师|医生|先生|女士|教授|经理|总|阿姨|叔叔))"
)
_HANGUL_NAME = re.compile(r"([가-힣]{2,4})(?=씨|님|이랑|에게)")
_KATAKANA = re.compile(r"[ァ-ヴー]{3,}(?:・[ァ-ヴー]{2,})*|[一-龥々]{1,4}(?=さん|くん|ちゃん|先生|様)")

# Capitalised by grammar, not because they name something.
_COMMON = frozenset(
    """I I'm I've I'll I'd The A An This That These Those There Here It It's He She We They You Your My Our His Her
    Their What When Where Who Whom Whose Which Why How And But Or So If Then Because While After Before Since
    Until Although Yes No Not Hey Hi Hello Wow Thanks Thank Sure Ok Okay Oh Well Yeah Yep Nope Great Good Nice
    Cool Sorry Please Let Lets Let's That's What's There's Here's Is Are Was Were Do Does Did Have Has Had Can
    Could Will Would Should May Might Must In On At By For With From To Of As Just Also Maybe Actually Really
    Absolutely Definitely Certainly Course Sounds Congrats Congratulations Monday Tuesday Wednesday Thursday
    Friday Saturday Sunday January February March April June July August September October November December Mr
    Mrs Ms Dr Mom Dad User Assistant System Today Tomorrow Yesterday Some Any All Each Every Both Many Most More
    First Second Next Last Finally Step Note Example Use Using Make Get Got Go Now Still Even Only Once Again
    Never Always Often Sometimes Don't Doesn't Didn't Can't Won't Isn't Aren't Wasn't""".split()
)


def find_mentions(text: str) -> tuple[Mention, ...]:
    """The names in a text, each once (by its key), in order of appearance, at most MAX_MENTIONS."""
    text = text[:MAX_CHARS]
    found: list[tuple[int, Mention]] = []
    taken: list[tuple[int, int]] = []

    def add(start: int, end: int, name: str, kind: str) -> None:
        if any(start < stop and begin < end for begin, stop in taken):
            return
        taken.append((start, end))
        found.append((start, Mention(display_name(name)[:MAX_NAME], kind)))

    for match in _URL.finditer(text):
        add(*match.span(), match.group(), "url")
    for match in _HANDLE.finditer(text):
        add(*match.span(), match.group(), "handle")
    for match in _TITLE.finditer(text):
        add(*match.span(), next(g for g in match.groups() if g), "work")
    for match in _QUANTITY.finditer(text):
        add(*match.span(), match.group(), "quantity")
    for match in _CAPITALISED.finditer(text):
        if (name := _proper_name(text, match)) is not None:
            add(*match.span(), name, "")
    if not text.isascii():
        for match in _ZH_ORGANISATION.finditer(text):
            add(*match.span(1), _without_lead(match.group(1)), "organisation")
        for match in _ZH_PLACE.finditer(text):
            add(*match.span(1), match.group(1), "place")
        for match in _ZH_PERSON.finditer(text):
            group = 1 if match.group(1) else 2
            add(*match.span(group), match.group(group), "person")
        for pattern in (_HANGUL_NAME, _KATAKANA):
            for match in pattern.finditer(text):
                add(*match.span(), match.group(), "")
    found.sort(key=lambda item: item[0])
    unique: dict[str, Mention] = {}
    for _, mention in found:
        key = entity_key(mention.name)
        if key and key not in unique and len(unique) < MAX_MENTIONS:
            unique[key] = mention
    return tuple(unique.values())


def _proper_name(text: str, match: re.Match[str]) -> str | None:
    words = match.group().split(" ")
    while words and words[0] in _COMMON:
        words.pop(0)
    while words and (words[-1] in _COMMON or not words[-1][:1].isupper()):
        words.pop()
    if not words or (len(words) == 1 and len(words[0]) < 2):
        return None
    name = " ".join(words)
    name = name[:-2] if name.endswith(("'s", "’s")) else name
    # One capitalised word at the start of a sentence may be an ordinary word: only one that is capitalised elsewhere
    # too, or written in capitals or camel case, counts.
    if len(words) == 1 and match.group().split(" ")[0] == words[0]:
        before = text[max(0, match.start() - 3) : match.start()]
        if _SENTENCE_START.search(before) and not _is_name_elsewhere(text, name, match.start()):
            return None
    return name


def _is_name_elsewhere(text: str, name: str, here: int) -> bool:
    if any(c.isupper() or c.isdigit() for c in name[1:]):
        return True
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
        if match.start() != here and not _SENTENCE_START.search(text[max(0, match.start() - 3) : match.start()]):
            return True
    return False


_ZH_LEAD = re.compile(r"^.*(?:在|去|到|从|于|进|入|考上|毕业|加入|离开|一家|一所|的)")


def _without_lead(name: str) -> str:
    """The organisation without the verb or preposition that the rule took along: 在北京大学 -> 北京大学."""
    shorter = _ZH_LEAD.sub("", name)
    return shorter if len(shorter) >= 3 else name
