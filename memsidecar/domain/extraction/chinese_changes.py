"""Chinese rules for what has changed: habits that ended or came back, names, numbers and employers that are new.

Most of it says something only to who knows what was before (`Claim.only_denies`).
"""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import chinese_words as words
from memsidecar.domain.extraction.chinese_subject import Subject
from memsidecar.domain.extraction.chinese_values import Found, find_time
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.values import han_trimmed

# Of the moment, or of this meal: no habit ends by it.
OF_NOW = re.compile(r"今[天晚早日]|今儿|中午|先|这[次顿会]|待会|一会|刚|马上|不下|来不及")
MEAL = re.compile(r"(?:早|午|晚|中)?(?:饭|餐)|夜宵|宵夜|东西|药|水$")
_POINTS = re.compile(r"[你您他她它这那]|什么|是|在|会|要|想|能|知道|行|懂|多|说|算|得|着|过|用")
_ENDED = re.compile(
    r"(?:(?:已经|再也|早就|都|就|也|又)*不再(?P<more>[^，。！？\s]{2,12}?)|(?:已经|再也|早就|都|就|也)*不(?P<le>[^，。！？\s]{2,12}?)了)"
    r"\s*了?$"
)
_LIKES = re.compile(r"喜欢|爱|住|讨厌|怕")


def ended(reading: Reading, subject: Subject) -> None:
    """我不去健身房了, 我不再跑步: the habit that is one no longer."""
    clause = reading.text[reading.start : subject.end]
    found = _ENDED.match(reading.text, subject.at, subject.end)
    if found is None or subject.relation or OF_NOW.search(clause):
        return
    group = "more" if found.group("more") else "le"
    what = found.group(group)
    if _POINTS.search(what) or _LIKES.match(what) or MEAL.search(what):
        return
    if (span := han_trimmed(reading.text, *found.span(group))) is not None:
        _habit(reading, reading.original[span.start : span.end], ended=True)


def given_up(reading: Reading, thing: str) -> None:
    """我戒了咖啡: it is drunk, eaten or smoked no longer."""
    for verb in "抽" if "烟" in thing else "喝吃":
        _habit(reading, f"{verb}{thing}", ended=True)


def _habit(reading: Reading, what: str, *, ended: bool) -> None:
    reading.add("routine", what, negated=ended, manner=Manner.CHANGED, since=True, only_denies=True)


_RESUMES = re.compile(
    r"(?:又|也|都|重新|可以|能|开始)*(?P<verb>[吃喝])(?P<what>(?![了过完着得不饱多好一])[^，。！？\s了]{1,10}?)了?\s*$"
)
_CUE = re.compile(r"(?:现在|如今|可以|能).*了\s*$|又?(?:重新)?开始(?:能|可以)?[吃喝]|重新")


def resumed(reading: Reading, subject: Subject) -> bool:
    """我现在吃牛肉了, 我又开始喝咖啡了: what was avoided; whether it was read."""
    found = _RESUMES.match(reading.text, subject.at, subject.end)
    clause = reading.text[reading.start : subject.end]
    if found is None or subject.relation or not _CUE.search(clause) or OF_NOW.search(clause):
        return False
    if MEAL.search(found.group("what")) or _POINTS.search(found.group("what")):
        return False
    span = Span(*found.span("what"))
    reading.add("likes", span, polarity=0.3, manner=Manner.CHANGED, only_denies=True)
    _habit(reading, found.group("verb") + reading.original[span.start : span.end], ended=False)
    return True


_NUMBER = (
    r"(?:[，,。；;！\s]|新的?(?:手机号?|电话)?(?:号码?|邮箱)?|现在(?:的?号码?|用的?)?|改|换|成|了|是|为|[：:])*?"
    r"(?:(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})|(?P<phone>(?<!\d)\+?\d[\d -]{5,20}\d))"
)
_NEW_ONE = re.compile(_NUMBER, re.ASCII)
RENEWED = (
    r"的?(?:(?:刚刚?)?[换改]了?(?:一?个|新的?)?(?:手机号码?|电话号?码?|联系电话|手机|号码?|邮箱)"
    r"|(?:手机号码?|电话号?码?|联系电话|号码|邮箱)(?:已经|刚刚?)?[换改](?:成|为)?)了?"
)


def renewed(reading: Reading, subject: Subject, found: Found) -> None:
    """我换手机号了，新的是…: the number may stand in the next sentence."""
    new = _NEW_ONE.match(reading.text, found.end(), found.end() + 60)
    if new is None or subject.relation:
        return
    reading.end = max(reading.end, new.end())
    group = "mail" if new.group("mail") else "phone"
    reading.add("email" if group == "mail" else "phone", Span(*new.span(group)), manner=Manner.CHANGED)


LEFT = (
    r"(?:已经|刚刚?)?离开了?(?P<where>(?!一)[^，。！？\s了你我他她它这那家]{2,14}?)(?:这家公司|公司)?"
    r"了?(?=\s*(?:$|[，。！!,]))"
)


def left(reading: Reading, subject: Subject, found: Found) -> None:
    """离开了谷歌: an employer, if he is known for one; a town is left, too."""
    find_time(reading, subject)
    _employs(reading, subject, Span(*found.span("where")), ended=True)


JOINED = (
    r"加入了?(?P<where>[A-Z][\w&.-]{1,20}(?:\s[A-Z][\w&.-]{1,20}){0,2}|[一-龥]{2,8}?)"
    rf"(?:(?:担任|做|当)(?P<job>[^，。！？\s]{{0,10}}?(?:{words.PROFESSIONS})))?了?(?=\s*(?:$|[，。！!,]))"
)
_NO_EMPLOYER = re.compile(
    r"(?:Facebook|Twitter|X|Instagram|Reddit|Discord|Slack|Zoom|LinkedIn|TikTok|Telegram|WhatsApp|GitHub|Steam)$"
    r"|[一这那你我他她两几]|.*(?:群|会|社|团|俱乐部|健身房|党|队|组|班|军|大学|课|活动|计划|讨论|会议|籍|游戏|社区|频道|课程|学校|学院|战|大家庭)$"
)
_LASTING = re.compile(r"(?:上+个?月|去年|今年|前年|半年前|.{1,3}(?:年|个?月)前|.{1,5}月|.{4}年.*)(?:初|底|份)?")


def joined(reading: Reading, subject: Subject, found: Found) -> None:
    """我上个月加入了Meta: for years, not for an evening."""
    find_time(reading, subject)
    time = reading.time
    lasting = time is not None and _LASTING.fullmatch(reading.text[time.span.start : time.span.end]) is not None
    if _NO_EMPLOYER.match(found.group("where")) or not (lasting or found.group("job")):
        return
    _employs(reading, subject, Span(*found.span("where")))
    if found.group("job"):
        reading.add("job", Span(*found.span("job")), subject=subject.text, manner=Manner.CHANGED, since=True)


def _employs(reading: Reading, subject: Subject, whom: Span, *, ended: bool = False) -> None:
    reading.add(
        "employer",
        whom,
        subject=subject.text,
        negated=ended,
        manner=Manner.CHANGED,
        since=True,
        entity_type="organisation",
        only_denies=ended,
    )
