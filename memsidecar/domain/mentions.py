"""Entities that a text names, by simple deterministic rules: no model, no network, microseconds.

Precise rather than complete: a name missed is found by its words all the same, a false one is an edge that misleads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memsidecar.domain.names import (
    COMMON,
    COMMON_FOLDED,
    HANGUL_SURNAMES,
    HANGUL_TITLES,
    NOT_GIVEN,
    NOT_KANJI_NAMES,
    NOT_NAMES,
    NOT_ORGANISATIONS,
    SURNAMES,
)
from memsidecar.domain.text import CJK, HAN, display_name, entity_key
from memsidecar.domain.tokens import STOP_WORDS

MAX_MENTIONS = 32
MAX_NAME = 128
# Rules read this much of a long text; its words are indexed in full.
MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in the text. `type` is person, organisation, place, work, handle, url, quantity or empty."""

    name: str
    type: str = ""


# Every repeat below is bounded or cannot begin twice in one place, so that no text makes a rule slow.
_URL = re.compile(r"https?://[^\s<>\"'）)，。、]+[^\s<>\"'）)，。、.,;:!?]")
_HANDLE = re.compile(r"(?<![\w@.])@[A-Za-z0-9_][A-Za-z0-9_.-]{1,38}[A-Za-z0-9_]")
_TITLE = re.compile(r"《([^《》\n]{1,60})》|“([^“”\n]{3,60})”|\"([^\"\n]{3,60})\"")
_QUANTITY = re.compile(
    r"(?<![A-Za-z0-9_.,])(?:[$€£¥]\s?\d[\d,]{0,20}(?:\.\d{1,20})?[kKmM]?|\d[\d,]{0,20}(?:\.\d{1,20})?\s?(?:km|kg|lbs?|miles?|mph|"
    r"GB|MB|TB|dollars|euros)|\d[\d,]{0,20}(?:\.\d{1,20})?\s?(?:%|公里|公斤|千克|元|万元|美元|岁|平方米))(?![A-Za-z0-9])"
)
# What every quantity without a sign before it has; much quicker to look for.
_QUANTITY_UNIT = re.compile(r"[\d,]\s?[klmGMTde%公千元万美岁平]")
_UPPER = "A-ZÀ-ÖØ-ÞĆČĐĞİŁŃŘŚŞŠŹŻŽΑ-ΡΣ-ΩЁА-Я"
# A letter or digit of a script with spaces: `\w` alone would take the Chinese words after a name along.
_LETTER = rf"[^\W{CJK}]"


def _name(upper: str, letter: str) -> str:
    return rf"[{upper}](?:(?:{letter}|['’&.-])*{letter})?"


def _name_run(upper: str, letter: str) -> re.Pattern[str]:
    """A run of capitalised words, with the small words that stand inside names."""
    word = _name(upper, letter)
    return re.compile(rf"(?<![@/.])(?<!{letter}){word}(?: (?:(?:of the|of|the|de la|de|la|van|von|&) )?{word})*")


_CAPITALISED = _name_run(_UPPER, _LETTER)
_CAPITALISED_ASCII = _name_run("A-Z", "[A-Za-z0-9_]")
_SENTENCE_START = re.compile(r"[.!?。！？:\n\"“(*\-•]\s*$")
_MOST_WORDS = 6
_ZH_ORGANISATION = re.compile("大学|学院|中学|小学|公司|集团|银行|医院|研究所|研究院|图书馆|博物馆|餐厅|咖啡馆|俱乐部")
_ZH_LONGEST = 10
_ZH_NAME = re.compile(rf"[{CJK}A-Za-z0-9]*$")
_ZH_LEAD = re.compile(rf"^.*[{NOT_GIVEN}于进入家所间座上]|^.*(?:考上|毕业|加入|离开|参观|位于)")
_ZH_PLACE = re.compile(
    r"(?:北京|上海|天津|重庆|广州|深圳|杭州|南京|苏州|成都|武汉|西安|厦门|青岛|大连|长沙|郑州|沈阳|昆明|拉萨|香港|澳门|"
    r"台北|东京|大阪|京都|首尔|纽约|伦敦|巴黎|柏林|里斯本|新加坡|洛杉矶|旧金山|西雅图|波士顿|悉尼|墨尔本|多伦多|温哥华)市?"
)
# A name counts where the grammar around it says so: after an introducing word, and before a verb or a title.
_ZH_BEFORE = r"(?:(?<![^\s，。！？；：、“（(])|(?<=[叫和跟与同找给问见请陪让到像]))"
_ZH_PERSON = re.compile(
    rf"{_ZH_BEFORE}(?:([{SURNAMES}](?:(?![{NOT_GIVEN}])[{HAN}]){{1,2}})"
    r"(?=说|在|是|的|和|跟|与|去|来|会|要|想|喜欢|告诉|问|也|给|[，。！？、]|$|先生|女士|老师|医生)"
    rf"|([{SURNAMES}](?:老师|医生|先生|女士|教授|经理|阿姨|叔叔)))"
)
_HANGUL_NAME = re.compile(
    rf"(?<![가-힣])([{HANGUL_SURNAMES}][가-힣]{{2}})(?:씨|님|이랑|에게)|(?<![가-힣])([가-힣]{{2,3}}) ?씨(?![가-힣])"
)
_KATAKANA = re.compile(
    r"[ァ-ヴー]{2,12}(?:・[ァ-ヴー]{2,12}){1,3}|[ァ-ヴー]{2,8}(?=さん|くん|ちゃん|様)|(?<![お御一-龥々])[一-龥々]{2,4}(?=さん|くん|ちゃん|様)"
)

Found = tuple[int, int, Mention]


def find_mentions(text: str) -> tuple[Mention, ...]:
    """The names in a text, each once (by its key), in order of appearance, at most MAX_MENTIONS."""
    text = text[:MAX_CHARS]
    taken = bytearray(len(text))
    found: list[tuple[int, Mention]] = []
    for start, end, mention in _candidates(text):
        # What a rule before has taken is part of something else.
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            found.append((start, mention))
    found.sort(key=lambda item: item[0])
    unique: dict[str, Mention] = {}
    for _, mention in found:
        key = entity_key(mention.name)
        if key and key not in unique:
            unique[key] = mention
            if len(unique) == MAX_MENTIONS:
                break
    return tuple(unique.values())


def _candidates(text: str) -> Iterator[Found]:
    """What the rules find, the surest first; places may overlap."""
    # Most texts have none of these, and a look for the one character that each needs is twenty times quicker.
    if "://" in text:
        for match in _URL.finditer(text):
            yield match.start(), match.end(), _mention(match.group(), "url")
    if "@" in text:
        for match in _HANDLE.finditer(text):
            yield match.start(), match.end(), _mention(match.group(), "handle")
    if '"' in text or "“" in text or "《" in text:
        for match in _TITLE.finditer(text):
            if match.group(1) or _is_title(match.group(2) or match.group(3)):
                yield match.start(), match.end(), _mention((match.group(match.lastindex or 0)).rstrip(".,"), "work")
    if _QUANTITY_UNIT.search(text) or "$" in text or "€" in text or "£" in text or "¥" in text:
        for match in _QUANTITY.finditer(text):
            yield match.start(), match.end(), _mention(match.group(), "quantity")
    yield from _capitalised(text)
    if not text.isascii():
        yield from _chinese(text)
        yield from _korean_and_japanese(text)


def _mention(name: str, kind: str = "") -> Mention:
    return Mention(display_name(name)[:MAX_NAME], kind)


def _is_title(quoted: str) -> bool:
    """Whether quoted words are a title rather than speech: every word that is not small has a capital."""
    words = quoted.rstrip(".,").split()
    if not words or len(words) > 8 or quoted[-1] in "!?" or not words[0][:1].isupper():
        return False
    if len(words) == 1:
        return not _is_common(words[0])
    return (
        words[0] not in ("I", "I'm", "I’m")
        and all(w[:1].isupper() or len(w) < 4 for w in words[1:])
        and (words[-1][:1].isupper())
    )


def _is_common(word: str) -> bool:
    plain = word.replace("’", "'")
    if plain in COMMON:
        return True
    shouted = len(word) > 1 and word.isupper() and word != "US"
    return shouted and (word.casefold() in STOP_WORDS or word.casefold() in COMMON_FOLDED)


def _capitalised(text: str) -> Iterator[Found]:
    elsewhere: set[str] | None = None
    for match in (_CAPITALISED_ASCII if text.isascii() else _CAPITALISED).finditer(text):
        words = match.group().split(" ")
        first, last = 0, len(words)
        while first < last and (_is_common(words[first]) or not words[first][:1].isupper()):
            first += 1
        while last > first and (_is_common(words[last - 1]) or not words[last - 1][:1].isupper()):
            last -= 1
        if first == last or last - first > _MOST_WORDS:
            continue
        name = " ".join(words[first:last])
        name = name[:-2] if name.endswith(("'s", "’s")) else name
        if len(name) < 2 or (last - first > 2 and name.isupper()):
            continue
        # One capitalised word at the start of a sentence may be an ordinary one: it counts when it is capitalised
        # elsewhere too, or written in capitals or camel case.
        if last - first == 1 and first == 0 and _starts_sentence(text, match.start()):
            if elsewhere is None:
                elsewhere = _inside_sentences(text)
            if name not in elsewhere and not any(c.isupper() or c.isdigit() for c in name[1:]):
                following = text[match.end() : match.end() + 2].lstrip()
                # Among Chinese words a capital is never grammar.
                if not following or not _IS_CJK.match(following):
                    continue
        yield match.start(), match.end(), _mention(name)


_IS_CJK = re.compile(rf"[{CJK}]")
_WORD = re.compile(_name(_UPPER, _LETTER))


def _starts_sentence(text: str, at: int) -> bool:
    before = text[max(0, at - 3) : at]
    return _SENTENCE_START.search(before) is not None or (at <= 3 and not before.strip())


def _inside_sentences(text: str) -> set[str]:
    """Capitalised words that stand inside a sentence somewhere."""
    words = ((match.group(), match.start()) for match in _WORD.finditer(text))
    inside = (word for word, at in words if not _starts_sentence(text, at))
    return {word[:-2] if word.endswith(("'s", "’s")) else word for word in inside}


def _chinese(text: str) -> Iterator[Found]:
    for match in _ZH_ORGANISATION.finditer(text):
        before = _ZH_NAME.search(text[max(0, match.start() - _ZH_LONGEST) : match.start()])
        # The organisation without the verb or preposition before it: 在北京大学 -> 北京大学.
        name = _ZH_LEAD.sub("", before.group()) if before is not None else ""
        if len(name) >= 2 and name not in NOT_ORGANISATIONS and name[:2] not in NOT_ORGANISATIONS:
            yield match.start() - len(name), match.end(), _mention(name + match.group(), "organisation")
    for match in _ZH_PLACE.finditer(text):
        yield match.start(), match.end(), _mention(match.group(), "place")
    for match in _ZH_PERSON.finditer(text):
        group = 1 if match.group(1) else 2
        if match.group(group)[:2] not in NOT_NAMES:
            yield match.start(group), match.end(group), _mention(match.group(group), "person")


def _korean_and_japanese(text: str) -> Iterator[Found]:
    for match in _HANGUL_NAME.finditer(text):
        group = 1 if match.group(1) else 2
        if match.group(group) not in HANGUL_TITLES and match.group(group)[:2] not in HANGUL_TITLES:
            yield match.start(group), match.end(group), _mention(match.group(group), "person")
    for match in _KATAKANA.finditer(text):
        if match.group() not in NOT_KANJI_NAMES:
            yield match.start(), match.end(), _mention(match.group())
