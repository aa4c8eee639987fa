"""What kind of statement a memory is, read from its words once, when it is written.

An assistant's turn repeats and elaborates what the user said; a standing instruction or preference of the user bears on
questions that share no word with it. Ranking weighs both (`Profile.assistant`, `instruction`, `preference`).
"""

from __future__ import annotations

import re
from enum import IntFlag

from memsidecar.domain.exchange import prompt_of
from memsidecar.domain.injection import looks_like_instruction
from memsidecar.domain.memory import Body, Episode, Preference, text_of

# Speakers that are roles, not names: "user" in a question is a word.
ASSISTANTS = frozenset({"assistant", "ai", "bot", "chatbot", "model", "system", "tool", "助手", "助理", "アシスタント"})
ROLES = ASSISTANTS | {"", "user", "human", "用户"}
# A statement says at its beginning what it is; what follows may be a pasted page.
_READ = 400
# Of a longer text its beginning and its end are searched for instructions to a model: the event loop waits for it.
_SEARCHED = 4_000

_INSTRUCTION = re.compile(
    r"""^\s*["“']?(?:please,?\s|from\snow\son,?\s){0,2}(?:always|never|don['’]t\sever|do\snot\sever)\b
    |\b(?:from\snow\son|when(?:ever)?\sI\sask|every\stime\sI\sask)\b
    |^\s*(?:请|以后|从现在起|每次|永远|始终|务必|记住)[^。！？\n]{0,12}(?:都|要|请|不要|别|始终|总是|务必|用)
    |(?:いつも|必ず|今後は|これからは)[^。\n]{0,30}(?:ください|して|で)|(?:항상|앞으로|언제나)[^.\n]{0,30}(?:주세요|해줘|하세요)""",
    re.IGNORECASE | re.VERBOSE,
)
_WISH = r"""prefer|avoid|dislike|hate|despise|refuse|loathe|detest|insist|prioriti[sz]e|adhere|advocate|objection
    |aversion|phobia|fear|afraid|preference|allerg(?:ic|y|ies)|uncomfortable|vegan|vegetarian|exclusively|strict(?:ly)?|believe\sin|stance
    |(?:can['’]t|cannot|can\snot)\s(?:stand|eat|drink|tolerate)|(?:do\snot|don['’]t)\s(?:like|enjoy|want|eat|drink|wear|use)
    |not\s(?:comfortable|interested)|(?:no|zero)\sinterest
    |only\s(?:use|buy|eat|drink|wear|read|watch|listen|consider|stay|shop|travel)"""
_PREFERENCE = re.compile(
    rf"""\bI(?:['’]m|['’]ve)?\s(?:[\w-]+\s){{0,4}}?(?:{_WISH})\b
    |我(?:[一-鿿]{{0,4}})(?:不喜欢|更喜欢|讨厌|偏好|偏爱|过敏|不吃|不喝|不用|从不|拒绝|害怕|受不了|只(?:用|吃|喝|看|买|穿)|吃素)
    |(?:が|は)(?:大)?(?:好き|嫌い|苦手)|アレルギー|(?:을|를|이|가)\s?(?:좋아|싫어)|알레르기""",
    re.IGNORECASE | re.VERBOSE,
)
# Of every English match of the two, one of these is a part.
_INSTRUCTING = ("always", "never", "ever", "from", "every", "when")
_WISHING = tuple(
    """prefer avoid dislike hate despis refus loath detest insist prioriti adher advocat objection aversion phobia fear
    afraid allerg uncomfortable vegan vegetarian exclusive strict believe stance stand cannot can't not don't interest
    only""".split()
)


class Trait(IntFlag):
    """Numbers are stored in snapshots."""

    ASSISTANT = 1
    INSTRUCTION = 2
    PREFERENCE = 4
    SUSPICIOUS = 8
    """Reads like an instruction to a model (`domain/injection.py`)."""


def traits(body: Body) -> Trait:
    """The traits of a statement."""
    text = text_of(body)
    if len(text) > _SEARCHED:
        text = f"{text[: _SEARCHED * 3 // 4]}\n{text[-_SEARCHED // 4 :]}"
    suspicious = Trait.SUSPICIOUS if looks_like_instruction(text) else Trait(0)
    return suspicious | _stance(body)


def _stance(body: Body) -> Trait:
    """What an assistant says is never a wish of the user."""
    match body:
        case Episode(speaker=speaker, text=text):
            if speaker.casefold() in ASSISTANTS:
                return Trait.ASSISTANT
            prompt = None if speaker else prompt_of(text)
            # Of an exchange the answer is the assistant's, the wish the user's.
            return _wish(text) if prompt is None else Trait.ASSISTANT | _wish(prompt)
        case Preference():
            return Trait.PREFERENCE
        case _:
            return Trait(0)


def _wish(text: str) -> Trait:
    begin = text[:_READ]
    # The searches take ten times as long as looking for a word that each of them needs; most texts have none.
    words = begin.lower() if begin.isascii() else None
    if (words is None or any(map(words.__contains__, _INSTRUCTING))) and _INSTRUCTION.search(begin):
        return Trait.INSTRUCTION
    wishes = words is None or any(map(words.__contains__, _WISHING))
    return Trait.PREFERENCE if wishes and _PREFERENCE.search(begin) else Trait(0)
