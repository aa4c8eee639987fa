"""Chinese rules for what somebody is called beside his name, and for a name that changes."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction.chinese_subject import NAME, Subject
from memsidecar.domain.extraction.chinese_values import Found, Rule, find_time, written
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.names import NOT_NAMES, SURNAMES
from memsidecar.domain.text import HAN

# 叫我起床 is no name: only what is built as people are called.
_FORM = (
    rf"(?:[小老阿][{HAN}]{{1,2}}?|(?P<twice>[{HAN}])(?P=twice)|[{SURNAMES}](?:[{HAN}]{{2}}|[哥姐总工])"
    rf"|[{HAN}]{{1,2}}(?:哥|姐|叔|姨|老师|师傅|同学)|[A-Z][A-Za-z]*(?:[ ·][A-Z][A-Za-z]*)?)"
)
_CALL_ME = re.compile(
    r"\s*(?:请|你们?|您|大家|朋友们?|同事们?|家里?人|身边的人|以后|今后|平时|都|就|一般|习惯|可以|也|直接|还是){0,6}"
    rf"(?:叫|称呼|喊)我(?:为|做)?\s*(?P<name>{_FORM})\s*(?:就?(?:好|行|可以|成)了?|即可|吧|啦)?\s*"
)
_NO_NAME = frozenset(
    "小心 小声 小点 老师 老板 老公 老婆 老实 老是 小姐 天天 常常 慢慢 等等 看看 试试 想想 说说 谢谢".split()
)


def asks_to_be_called(reading: Reading) -> bool:
    """叫我小王, 大家都叫我豆豆: whether the clause says what its speaker is called; the name stays what it is."""
    found = _CALL_ME.fullmatch(reading.text, reading.start, reading.end)
    if found is None or found.group("name")[:2] in _NO_NAME | NOT_NAMES:
        return False
    reading.add("preferred_name", Span(*found.span("name")), entity_type="person")
    return True


def _nicknamed(reading: Reading, subject: Subject, found: Found) -> None:
    if not subject.relation:
        reading.add("preferred_name", Span(*found.span("name")), manner=subject.manner, entity_type="person")


def _renamed(reading: Reading, subject: Subject, found: Found) -> None:
    name = Span(*found.span("name"))
    text = written(reading, name)
    # 改叫外卖: only what begins as a name.
    surely = "名" in found.group() or text.isascii() or text[0] in SURNAMES
    if subject.relation or not surely or text[:2] in NOT_NAMES:
        return
    find_time(reading, subject)
    reading.add("name", name, manner=Manner.CHANGED, since=True, entity_type="person")


NAMES: tuple[tuple[str, Rule], ...] = (
    (rf"(?:的)?(?:小名|昵称|绰号|外号|网名)(?:是|叫做?|为)(?P<name>{NAME})(?=\s*(?:$|[，。！!,]))", _nicknamed),
    (
        r"(?:(?:改|更)了?名(?:字)?(?:叫做?|为|成|作)?了?|(?:把|将)?的?名字改(?:叫做?|为|成|作)了?|改叫了?)"
        rf"(?P<name>{NAME})了?(?=\s*(?:$|[，。！!,.；;]))",
        _renamed,
    ),
)
