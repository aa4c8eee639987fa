"""The Chinese rules for facts, each with its pattern, in the order in which they are asked."""

from __future__ import annotations

import re
from dataclasses import replace

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import chinese_words as words
from memsidecar.domain.extraction.chinese_changes import (
    JOINED,
    LEFT,
    RENEWED,
    joined,
    left,
    renewed,
)
from memsidecar.domain.extraction.chinese_names import NAMES
from memsidecar.domain.extraction.chinese_subject import NAME, Subject
from memsidecar.domain.extraction.chinese_things import (
    eats,
    has,
    has_hobbies,
    is_allergic,
    knows,
    learns,
    owns,
    speaks,
    suffers,
)
from memsidecar.domain.extraction.chinese_values import Found, Rule, find_time, manner_of, place_in, plain, written
from memsidecar.domain.extraction.chinese_work import (
    graduates,
    is_promoted,
    is_trade,
    joins,
    leaves,
    majors,
    retires,
    studies,
    works,
)
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import CHINESE_TIME
from memsidecar.domain.extraction.values import han_trimmed
from memsidecar.domain.names import NOT_NAMES, SURNAMES

_END = r"(?=\s*(?:$|[，。！!,.；;]|了|呢|吧|啊))"

_NOT_PLACE = re.compile(
    r"^(?:老家|这[里儿]?|那[里儿]?|哪|家里?|一起|公司|学校|外面|里面|酒店|宾馆|医院|山上|海边|水里"
    r"|梦里|心里|.*[你我他她它]|.*(?:时候|感觉|地方))"
)

_SELF_NAME = re.compile(rf"[{SURNAMES}][一-龥]{{1,2}}")


def _named(reading: Reading, subject: Subject, found: Found) -> None:
    name = Span(*found.span("name"))
    if written(reading, name)[:2] in NOT_NAMES:
        return
    if (
        not subject.own
        and reading.claims
        and reading.claims[-1].attribute in ("pet", "child", "sister", "brother", "friend")
    ):
        # "我养了一只猫，叫团子": the name of what was just said.
        last = reading.claims[-1]
        whole = Span(last.span.start, reading.end)
        words_now = " ".join(reading.original[whole.start : whole.end].split())
        reading.claims[-1] = replace(
            last, value=reading.original[name.start : name.end], span=whole, statement=words_now
        )
    elif not subject.relation:
        reading.add("name", name, manner=subject.manner, entity_type="person")


def _is_called(reading: Reading, subject: Subject, found: Found) -> None:
    """我是李娜: only a full Chinese name, or what stands alone after a greeting."""
    name = Span(*found.span("name"))
    word = written(reading, name)
    if (
        not subject.relation
        and (_SELF_NAME.fullmatch(word) and word[:2] not in NOT_NAMES)
        and not word.endswith(("师", "生", "员", "人", "的"))
    ):
        reading.add("name", name, manner=subject.manner, entity_type="person")


def _aged(reading: Reading, subject: Subject, found: Found) -> None:
    reading.add("age", Span(*found.span("age")), subject=subject.text, manner=subject.manner)


def _birthday(reading: Reading, subject: Subject, found: Found) -> None:
    if not subject.was:
        reading.add("birthday", Span(*found.span("date")), subject=subject.text, manner=subject.manner)


def _from_country(reading: Reading, subject: Subject, found: Found) -> None:
    attribute = "nationality" if found.group("country") else "from"
    span = Span(*found.span("whole")) if found.group("country") else Span(*found.span("place"))
    reading.add(attribute, span, subject=subject.text, negated=found.group("not") is not None, manner=subject.manner)


def _gender(reading: Reading, subject: Subject, found: Found) -> None:
    reading.add("gender", Span(*found.span("gender")), subject=subject.text, manner=subject.manner)


def _lives(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    span = place_in(reading, found.end(), subject.end)
    if span is None or _NOT_PLACE.match(written(reading, span)) or len(written(reading, span)) > 16:
        return
    negated = subject.was or found.group("not") is not None
    reading.add(
        "lives_in",
        span,
        subject=subject.text,
        negated=negated,
        manner=manner_of(reading, subject, negated=negated),
        entity_type="place",
    )


def _moved(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    span = place_in(reading, found.end(), subject.end)
    if span is None or _NOT_PLACE.match(written(reading, span)) or len(written(reading, span)) > 14:
        return
    reading.add("lives_in", span, subject=subject.text, manner=Manner.CHANGED, since=True, entity_type="place")


def _comes_from(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, found.end(), subject.end)
    if span is not None and not _NOT_PLACE.match(written(reading, span)) and len(written(reading, span)) <= 12:
        reading.add("from", span, subject=subject.text, manner=subject.manner, entity_type="place")


def _visited(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    if not subject.text:
        negated = found.group("not") is not None
        reading.add("visited", Span(*found.span("where")), negated=negated, manner=subject.manner, entity_type="place")


def _born_in(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("place"))
    if span is not None:
        reading.add("birthplace", span, subject=subject.text, manner=subject.manner, entity_type="place")


def _status(reading: Reading, subject: Subject, found: Found) -> None:
    find_time(reading, subject)
    changed = (found.group("le") is not None and found.group("status") != "单身") or reading.time is not None
    manner = Manner.CHANGED if changed else subject.manner
    negated = found.group("not") is not None or subject.was
    reading.add(
        "relationship_status",
        Span(*found.span("status")),
        subject=subject.text,
        negated=negated,
        manner=manner,
        since=changed,
    )


_NUMBER = r"[\d一二两三四五六七八九十几]{1,3}"

_MEASURE = r"[个位只条头匹名]"

_NOT = r"(?P<not>已经不再?|不再|不|没|没有)?"

_PLACE = f"(?:{words.PLACES}|{words.COUNTRIES})"

_TABLE: tuple[tuple[str, Rule], ...] = (
    *NAMES,
    (RENEWED, renewed),
    (rf"(?:名?叫做?|的?名字(?:是|叫)|的?姓名是)(?P<name>{NAME}){_END}", _named),
    (rf"是(?P<name>[一-龥]{{2,3}}){_END}(?<!人)", _is_called),
    (r"(?:是|满|快)?(?P<age>(?:\d{1,3}|[一二三四五六七八九十]{1,4})岁)(?:半|了|多)?(?=\s*(?:$|[，。！!,]))", _aged),
    (r"(?<=今年)(?P<age>[二三四五六七八九]?十[一二三四五六七八九]?|\d{2})(?:多)?了?(?=\s*(?:$|[，。！!,]))", _aged),
    (
        r"的?生日(?:是|在)(?:农历"
        r"|阴历)?(?P<date>(?:[\d一二三四五六七八九十]{2,4}年)?[\d一二三四五六七八九十]{1,3}月[\d一二三四五六七八九十]{1,3}[日号])",
        _birthday,
    ),
    (
        r"(?:出生于|出生在|生于|是)?(?P<date>\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?)(?:出生|生的"
        r"|生)?(?=\s*(?:$|[，。！!,]))",
        _birthday,
    ),
    (rf"(?:出生在|出生于|生在|生于)(?P<place>(?!\d)[^，。！？\s]{{2,12}}){_END}", _born_in),
    (
        rf"(?P<not>不)?是(?P<whole>(?:(?P<country>{words.COUNTRIES})"
        rf"|(?P<place>{words.PLACES}))[省市]?(?:本地)?人){_END}",
        _from_country,
    ),
    (r"是(?:个|一个|一名)?(?P<gender>[男女])(?:生|的|性|孩子?|人)(?=\s*(?:$|[，。！!,]))", _gender),
    (
        r"(?P<not>不)?(?:是|在做|当了?|担任"
        rf"|从事)(?:一?[名个位])?(?P<job>[^，。！？的\s]{{0,8}}(?:{words.PROFESSIONS}))(?:工作"
        rf"|的工作)?{_END}",
        is_trade,
    ),
    (rf"(?:的)?(?:职业|工作|职位|岗位)是(?:一?[名个位])?(?P<job>[^，。！？\s]{{2,14}}){_END}", is_trade),
    (rf"{_NOT}(?:住在|住的(?:地方)?是|定居在?|定居于|居住在|常住在?|住(?={_PLACE}))", _lives),
    (r"(?:从[^，。]{1,10}?)?(?:搬家?[到去回来进]了?|迁到|移居到?|移民到?了?|搬回了?)(?!底)", _moved),
    (
        rf"(?P<not>没|从没|从来没|没有)?去过(?:[一二两三四五六七八九十几\d]+[次趟])?(?P<where>{_PLACE}"
        rf"|{words.CONTINENTS})",
        _visited,
    ),
    (r"来自于?|是从(?=[^，。]{2,8}来的)|(?:的)?老家(?:在|是)|(?:的)?家乡(?:在|是)|的?籍贯是", _comes_from),
    (rf"{_NOT}(?:就职于|任职于|供职于)(?P<where>[^，。！？\s]{{2,20}}){_END}", works),
    (
        rf"{_NOT}在(?P<where>[^，。！？\s]{{2,16}}?)(?:做|当|担任"
        rf"|任)(?:一?[名个位])?(?P<job>[^，。！？\s]{{0,8}}(?:{words.PROFESSIONS})){_END}",
        works,
    ),
    (
        rf"{_NOT}在(?P<where>[^，。！？\s]{{2,20}}?)(?:上班|工作|任职|就职|实习|打工|供职)(?:了)?(?=\s*(?:$"
        r"|[，。！!,]|了|已经|快|\d|[一二三四五六七八九十]+年))",
        works,
    ),
    (r"(?:刚)?从(?P<where>[^，。！？\s]{2,16}?)(?:离职|辞职|辞了职|跳槽|裸辞|退出)", leaves),
    (r"(?:跳槽到?去?|入职了?|加入了?(?=[^，。]{1,10}(?:公司|集团|银行))|换到)(?!我)", joins),
    (JOINED, joined),
    (LEFT, left),
    (r"(?:升职?|晋升|提拔|被提拔)(?:为|成|到|做)了?|当上了?|转行(?:做|当)了?|转岗(?:做|到|为)", is_promoted),
    (r"(?P<job>退休|失业|待业)了?(?=\s*(?:$|[，。！!,]|在家))", retires),
    (
        r"在(?P<school>[^，。！？\s]{2,16}?)(?:读|念|(?<!大)学|上)(?P<what>[^，。！？\s]{1,10})?(?=\s*(?:$"
        r"|[，。！!,]))",
        studies,
    ),
    (r"(?:的)?(?:专业|主修的?)(?:是|学的是)?(?P<what>[^，。！？\s是]{2,14})(?=\s*(?:$|[，。！!,]))", majors),
    (r"是(?:学|读)(?P<what>[^，。！？\s]{2,10})的(?=\s*(?:$|[，。！!,]))", majors),
    (
        r"(?:正)?(?:在)?(?:[^，。！？\s]{2,10}?)?(?:上|读|念|是)(?P<what>(?:小学|初中|高中"
        r"|大学)?[一二三四五六]年级|大[一二三四]|高[一二三]|初[一二三]|研[一二三])(?=\s*(?:$|[，。！!,]|了"
        r"|学生))",
        plain("grade"),
    ),
    (r"(?:是)?(?:从)?(?:毕业于|毕业自)(?P<school>[^，。！？\s]{3,16})(?=\s*(?:$|[，。！!,]))", graduates),
    (r"从(?P<school>[^，。！？\s]{3,16}?(?:大学|学院|中学|高中))毕业", graduates),
    (
        r"(?P<not>没有?|还没)?(?:是)?(?P<status>单身|离婚|离异|结婚|订婚|已婚|未婚|丧偶)(?P<le>了)?(?:的"
        r"|状态)?(?=\s*(?:$|[，。！!,]))",
        _status,
    ),
    (
        r"(?P<not>已经不|不再|不)?对(?P<what>[^，。！？\s]{1,20}?)(?:严重|有点|轻微|已经)?(?P<n2>不)?(?:会)?过敏",
        is_allergic,
    ),
    (
        r"(?P<not>没)?(?:有|患有|得了|患上了?|查出了?|被?(?:诊断出|确诊(?:为|了)?|诊断为)(?:患?有"
        rf"|了)?)(?:轻度|重度|慢性|严重的?|遗传性|[一二][型期])?(?P<what>{words.CONDITIONS})",
        suffers,
    ),
    (rf"是(?P<what>(?:{words.CONDITIONS}))患者", suffers),
    (r"(?P<not>不)?(?:是(?:一?[个名位])?)?(?:严格的?|纯)?(?P<diet>素食)(?:主义)?者?(?=\s*(?:$|[，。！!,]|了))", eats),
    (r"(?P<not>不再?)?(?:只|改|开始|已经)?(?P<diet>吃素|生酮饮食|吃纯素)(?=\s*(?:$|[，。！!,]|了|的))", eats),
    (
        rf"(?:家)?(?:里)?(?:(?P<not>没)有?|有|养了?|领养了|收养了|生了)(?P<many>{_NUMBER}{_MEASURE}"
        rf"|[个只条])?(?:可爱的?|小)?(?P<noun>孩子|小孩|娃|{words.PETS}"
        rf"|{'|'.join(sorted(words.RELATIONS, key=len, reverse=True))})"
        rf"(?:名?叫(?P<name>{NAME}))?(?=\s*(?:$|[，。！!,]))",
        has,
    ),
    (
        rf"(?:(?P<not>没)有?|有)(?:自己的)?(?:{_NUMBER}[辆台套部把架艘家间栋]"
        rf"|[辆台套部把架艘间栋])?(?P<what>[^，。！？\s]{{0,8}}(?:{words.POSSESSIONS}))(?=\s*(?:$"
        r"|[，。！!,]|了))",
        owns,
    ),
    (rf"有{_NUMBER}[辆台套部架艘栋](?P<what>[^，。！？\s]{{1,14}})(?=\s*(?:$|[，。！!,]))", owns),
    (rf"(?:新)?买了{_NUMBER}?[辆台套部把架艘栋](?P<what>[^，。！？\s]{{1,14}})(?=\s*(?:$|[，。！!,]))", owns),
    (r"(?P<gone>把)(?:我的?)?(?P<what>[^，。！？\s]{1,8}?)(?:给)?卖(?:掉)?了?", owns),
    (
        r"(?P<gone>卖(?:掉)?了)(?:我的?|那?[辆台套部])?(?P<what>[^，。！？\s搬到去买换]{1,8})(?=\s*(?:$"
        r"|[，。！!,]))",
        owns,
    ),
    (
        r"(?P<not>不)?(?:会说?|能说|会讲|精通)(?:一点儿?"
        rf"|流利的?)?(?P<what>(?:{words.LANGUAGES})[^，。！？]{{0,30}})",
        speaks,
    ),
    (rf"的?(?:母语|第一语言)(?P<not>不)?是(?P<what>(?:{words.LANGUAGES}))", speaks),
    (
        r"(?<!不)会(?P<what>(?:弹|拉|吹|打|说)?(?:钢琴|吉他|小提琴|古筝|二胡|笛子)|开车|游泳|滑雪|跳舞"
        r"|画画|编程|做饭|下棋|书法)(?=\s*(?:$|[，。！!,]))",
        knows,
    ),
    (r"的?(?:兴趣爱好|爱好|兴趣)(?:是|有|包括)(?P<what>[^。！？]{1,40})", has_hobbies),
    (r"(?P<what>怀孕)了?(?=\s*(?:$|[，。！!,]))", suffers),
    (
        r"(?:会用?|精通|擅长|熟悉)(?P<what>[A-Za-z][A-Za-z+# .]{0,20}(?:(?:、|和|,"
        r"|，)[A-Za-z][A-Za-z+#.]{0,20}){0,6})(?=\s*(?:$|[，。！!,]))",
        knows,
    ),
    (r"(?:正|最近)?在(?:学习?|自学)(?P<what>[^，。！？\s]{1,12})(?=\s*(?:$|[，。！!,]))", learns),
    (
        r"的?(?:电子)?(?:邮箱|邮件地址)(?:地址)?(?:是|为|:"
        r"|：)\s*(?P<what>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})",
        plain("email"),
    ),
    (r"的?(?:手机号码?|电话号?码?|手机|联系电话)(?:是|为)\s*(?P<what>\+?\d[\d -]{5,20}\d)", plain("phone")),
    (
        r"的?身高(?:是|有)?\s*(?P<what>[一二]米[一二三四五六七八九零\d]{1,3}|\d(?:\.\d+)?米|\d{3}\s?(?:cm|厘米|公分)?)",
        plain("height"),
    ),
    (r"的?体重(?:是|有)?\s*(?P<what>\d{2,3}(?:\.\d+)?\s?(?:公斤|斤|千克|kg))", plain("weight")),
)

FACTS: tuple[tuple[re.Pattern[str], Rule], ...] = tuple((re.compile(pattern), rule) for pattern, rule in _TABLE)

__all__ = ["CHINESE_TIME", "FACTS"]
