"""Chinese rules for who somebody is: name, residence, work, studies, health, things."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import chinese_words as words
from memsidecar.domain.extraction.chinese_subject import NAME, Subject
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import CHINESE_TIME, chinese_time
from memsidecar.domain.extraction.values import han_items, han_trimmed
from memsidecar.domain.names import NOT_NAMES, SURNAMES

Found = re.Match[str]
Rule = Callable[[Reading, Subject, Found], None]
_END = r"(?=\s*(?:$|[，。！!,.；;]|了|呢|吧|啊))"
_CHANGED = re.compile(r"已经|不再|再也|了\s*$|刚刚?")
# How long, after where: 北京三年了.
_DURATION = re.compile(r"(?:已经|快|有)*(?:\d{1,2}|[一二两三四五六七八九十几半]{1,3})多?(?:年|个月|个?星期)多?了?\s*$")
_NOT_PLACE = re.compile(
    r"^(?:老家|这[里儿]?|那[里儿]?|哪|家里?|一起|公司|学校|外面|里面|酒店|宾馆|医院|山上|海边|水里|梦里|心里|.*[你我他她它]|.*(?:时候|感觉|地方))"
)
_SELF_NAME = re.compile(rf"[{SURNAMES}][一-龥]{{1,2}}")


def _manner(reading: Reading, subject: Subject, *, negated: bool = False) -> Manner:
    if subject.was or (negated and _CHANGED.search(reading.text[reading.start : subject.end])):
        return Manner.CHANGED
    return subject.manner


def _time(reading: Reading, subject: Subject) -> None:
    reading.time = chinese_time(reading.text, reading.start, subject.end)


def _value(reading: Reading, start: int, end: int) -> Span | None:
    """A value without the time that stands in it or before it."""
    time = reading.time
    if time is not None and start <= time.outer.start < end:
        if time.outer.start - start < 2:
            start = time.outer.end
        else:
            end = time.outer.start
    return han_trimmed(reading.text, start, end)


def _words(reading: Reading, span: Span) -> str:
    return reading.text[span.start : span.end]


def _named(reading: Reading, subject: Subject, found: Found) -> None:
    name = Span(*found.span("name"))
    if _words(reading, name)[:2] in NOT_NAMES:
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
        reading.claims[-1] = replace(last, value=_words(reading, name), span=whole, statement=words_now)
    elif not subject.relation:
        reading.add("name", name, manner=subject.manner, entity_type="person")


def _is_called(reading: Reading, subject: Subject, found: Found) -> None:
    """我是李娜: only a full Chinese name, or what stands alone after a greeting."""
    name = Span(*found.span("name"))
    written = _words(reading, name)
    if (
        not subject.relation
        and (_SELF_NAME.fullmatch(written) and written[:2] not in NOT_NAMES)
        and not written.endswith(("师", "生", "员", "人", "的"))
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


def _trade(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("job"))
    if span is None or re.search(r"[你他她的]", _words(reading, span)[:-1]):
        return
    negated = subject.was or found.groupdict().get("not") is not None
    reading.add("job", span, subject=subject.text, negated=negated, manner=_manner(reading, subject, negated=negated))


def _where(reading: Reading, start: int, end: int) -> Span | None:
    if long := _DURATION.search(reading.text, start, end):
        end = long.start()
    return _value(reading, start, end)


def _lives(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
    span = _where(reading, found.end(), subject.end)
    if span is None or _NOT_PLACE.match(_words(reading, span)) or len(_words(reading, span)) > 16:
        return
    negated = subject.was or found.group("not") is not None
    reading.add(
        "lives_in",
        span,
        subject=subject.text,
        negated=negated,
        manner=_manner(reading, subject, negated=negated),
        entity_type="place",
    )


def _moved(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
    span = _where(reading, found.end(), subject.end)
    if span is None or _NOT_PLACE.match(_words(reading, span)) or len(_words(reading, span)) > 14:
        return
    reading.add("lives_in", span, subject=subject.text, manner=Manner.CHANGED, since=True, entity_type="place")


def _comes_from(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, found.end(), subject.end)
    if span is not None and not _NOT_PLACE.match(_words(reading, span)) and len(_words(reading, span)) <= 12:
        reading.add("from", span, subject=subject.text, manner=subject.manner, entity_type="place")


def _born_in(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("place"))
    if span is not None:
        reading.add("birthplace", span, subject=subject.text, manner=subject.manner, entity_type="place")


_NOT_EMPLOYER = re.compile(
    r"^(?:家里?|这[里儿]?|那[里儿]?|外面|一起|努力|认真|线上|网上|国外|外地|本地|办公室|.*(?:时间|时候|之前|之后|压力|晚上))$"
)


def _works(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
    span = _value(reading, *found.span("where"))
    if span is None or _NOT_EMPLOYER.match(_words(reading, span)) or re.search(r"[你他她]", _words(reading, span)):
        return
    negated = subject.was or found.group("not") is not None
    manner = _manner(reading, subject, negated=negated)
    job = found.groupdict().get("job")
    place = re.fullmatch(rf"(?:{words.PLACES}|{words.COUNTRIES})市?(?:市区|城里)?", _words(reading, span)) is not None
    if place:
        reading.add("works_in", span, subject=subject.text, negated=negated, manner=manner, entity_type="place")
    else:
        reading.add("employer", span, subject=subject.text, negated=negated, manner=manner, entity_type="organisation")
    if job and (what := han_trimmed(reading.text, *found.span("job"))) is not None:
        reading.add("job", what, subject=subject.text, negated=negated, manner=manner)


def _left(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
    span = _value(reading, *found.span("where"))
    if span is not None and not _NOT_EMPLOYER.match(_words(reading, span)):
        reading.add(
            "employer",
            span,
            subject=subject.text,
            negated=True,
            manner=Manner.CHANGED,
            since=True,
            entity_type="organisation",
        )


def _joined(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
    span = _value(reading, found.end(), subject.end)
    if span is not None and len(_words(reading, span)) <= 16:
        reading.add(
            "employer", span, subject=subject.text, manner=Manner.CHANGED, since=True, entity_type="organisation"
        )


def _promoted(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
    span = _value(reading, found.end(), subject.end)
    if span is not None and len(_words(reading, span)) <= 12:
        reading.add("job", span, subject=subject.text, manner=Manner.CHANGED, since=True)


def _retired(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
    reading.add("job", Span(*found.span("job")), subject=subject.text, manner=Manner.CHANGED, since=True)


def _studies(reading: Reading, subject: Subject, found: Found) -> None:
    where = han_trimmed(reading.text, *found.span("school"))
    if where is None or not re.search(
        r"大学|学院|中学|小学|高中|初中|[^同]学校|[一-龥]大$|清华|复旦|哈佛|斯坦福|麻省理工|剑桥|牛津|附中|[A-Z]{2,}",
        _words(reading, where),
    ):
        return
    negated = subject.was
    manner = _manner(reading, subject, negated=negated)
    reading.add("school", where, subject=subject.text, negated=negated, manner=manner, entity_type="organisation")
    if found.group("what") and (what := han_trimmed(reading.text, *found.span("what"))) is not None:
        if _words(reading, what) not in ("书", "研", "博", "硕士", "本科", "博士", "大学"):
            reading.add("studies", what, subject=subject.text, negated=negated, manner=manner)


def _majors(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if span is not None and len(_words(reading, span)) <= 14:
        reading.add(
            "studies",
            span,
            subject=subject.text,
            negated=subject.was,
            manner=_manner(reading, subject, negated=subject.was),
        )


def _graduated(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
    span = _value(reading, *found.span("school"))
    if span is not None and not re.match(r"\d", _words(reading, span)):
        reading.add("education", span, subject=subject.text, manner=subject.manner, entity_type="organisation")


def _status(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
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


def _allergic(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if span is None or re.match(r"这|那|什么|它|他", _words(reading, span)):
        return
    negated = found.group("not") is not None or subject.was
    for part in han_items(reading.text, span):
        reading.add(
            "allergic_to",
            part,
            subject=subject.text,
            negated=negated,
            manner=_manner(reading, subject, negated=negated),
        )


def _health(reading: Reading, subject: Subject, found: Found) -> None:
    negated = found.groupdict().get("not") is not None or subject.was
    reading.add(
        "health",
        Span(*found.span("what")),
        subject=subject.text,
        negated=negated,
        manner=_manner(reading, subject, negated=negated),
    )


def _diet(reading: Reading, subject: Subject, found: Found) -> None:
    negated = subject.was or found.groupdict().get("not") is not None
    reading.add(
        "diet",
        Span(*found.span("diet")),
        subject=subject.text,
        negated=negated,
        manner=_manner(reading, subject, negated=negated),
    )


def _has(reading: Reading, subject: Subject, found: Found) -> None:
    """有: people, animals and things that one has for long."""
    noun = found.group("noun")
    many = found.group("many") or ""
    negated = found.group("not") is not None
    manner = _manner(reading, subject, negated=negated)
    name = Span(*found.span("name")) if found.group("name") else None
    several = bool(many) and not many.startswith(("一", "1"))
    whole = Span(found.start("many") if several else found.start("noun"), found.end("noun"))
    if noun in ("孩子", "小孩", "娃") and several:
        reading.add("children", Span(*found.span("many")), subject=subject.text, negated=negated, manner=manner)
    elif noun in words.RELATIONS and words.RELATIONS[noun] != "pet":
        if name is None and words.RELATIONS[noun] not in ("child", "sister", "brother"):
            return
        reading.add(
            words.RELATIONS[noun],
            name or whole,
            subject=subject.text,
            negated=negated,
            manner=manner,
            entity_type="person",
        )
    elif re.fullmatch(words.PETS, noun):
        reading.add("pet", name or whole, subject=subject.text, negated=negated, manner=manner)


def _owns(reading: Reading, subject: Subject, found: Found) -> None:
    _time(reading, subject)
    span = _value(reading, *found.span("what"))
    if span is None or subject.text or len(_words(reading, span)) > 16:
        return
    negated = found.groupdict().get("not") is not None or found.groupdict().get("gone") is not None
    gone = found.groupdict().get("gone") is not None
    reading.add("owns", span, negated=negated, manner=Manner.CHANGED if gone else subject.manner, since=gone)


def _speaks(reading: Reading, subject: Subject, found: Found) -> None:
    for part in re.finditer(words.LANGUAGES, found.group("what")):
        start = found.start("what")
        reading.add(
            "speaks",
            Span(start + part.start(), start + part.end()),
            subject=subject.text,
            negated=found.group("not") is not None,
            manner=subject.manner,
        )


def _knows(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if span is not None and not subject.text:
        for part in han_items(reading.text, span):
            reading.add("knows", part, manner=subject.manner)


def _learning(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if (
        span is not None
        and not subject.text
        and len(_words(reading, span)) <= 10
        and _words(reading, span) not in ("习", "校", "习中")
    ):
        reading.add("learning", span, manner=subject.manner)


def _hobbies(reading: Reading, subject: Subject, found: Found) -> None:
    span = han_trimmed(reading.text, *found.span("what"))
    if span is not None and not subject.text:
        for part in han_items(reading.text, span):
            reading.add("hobby", part, polarity=0.8, manner=subject.manner)


def _plain(attribute: str) -> Rule:
    def rule(reading: Reading, subject: Subject, found: Found) -> None:
        span = han_trimmed(reading.text, *found.span("what"))
        if span is not None and len(_words(reading, span)) <= 20:
            reading.add(attribute, span, subject=subject.text, manner=subject.manner)

    return rule


_NUMBER = r"[\d一二两三四五六七八九十几]{1,3}"
_MEASURE = r"[个位只条头匹名]"
_NOT = r"(?P<not>已经不再?|不再|不|没|没有)?"
_PLACE = f"(?:{words.PLACES}|{words.COUNTRIES})"
_TABLE: tuple[tuple[str, Rule], ...] = (
    (rf"(?:名?叫做?|的?名字(?:是|叫)|的?姓名是)(?P<name>{NAME}){_END}", _named),
    (rf"是(?P<name>[一-龥]{{2,3}}){_END}(?<!人)", _is_called),
    (r"(?:是|满|快)?(?P<age>(?:\d{1,3}|[一二三四五六七八九十]{1,4})岁)(?:半|了|多)?(?=\s*(?:$|[，。！!,]))", _aged),
    (r"(?<=今年)(?P<age>[二三四五六七八九]?十[一二三四五六七八九]?|\d{2})(?:多)?了?(?=\s*(?:$|[，。！!,]))", _aged),
    (
        r"的?生日(?:是|在)(?:农历|阴历)?(?P<date>(?:[\d一二三四五六七八九十]{2,4}年)?[\d一二三四五六七八九十]{1,3}月[\d一二三四五六七八九十]{1,3}[日号])",
        _birthday,
    ),
    (
        r"(?:出生于|出生在|生于|是)?(?P<date>\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?)(?:出生|生的|生)?(?=\s*(?:$|[，。！!,]))",
        _birthday,
    ),
    (rf"(?:出生在|出生于|生在|生于)(?P<place>(?!\d)[^，。！？\s]{{2,12}}){_END}", _born_in),
    (
        rf"(?P<not>不)?是(?P<whole>(?:(?P<country>{words.COUNTRIES})|(?P<place>{words.PLACES}))[省市]?(?:本地)?人){_END}",
        _from_country,
    ),
    (r"是(?:个|一个|一名)?(?P<gender>[男女])(?:生|的|性|孩子?|人)(?=\s*(?:$|[，。！!,]))", _gender),
    (
        rf"(?P<not>不)?(?:是|在做|当了?|担任|从事)(?:一?[名个位])?(?P<job>[^，。！？的\s]{{0,8}}(?:{words.PROFESSIONS}))(?:工作|的工作)?{_END}",
        _trade,
    ),
    (rf"(?:的)?(?:职业|工作|职位|岗位)是(?:一?[名个位])?(?P<job>[^，。！？\s]{{2,14}}){_END}", _trade),
    (rf"{_NOT}(?:住在|住的(?:地方)?是|定居在?|定居于|居住在|常住在?|住(?={_PLACE}))", _lives),
    (r"(?:从[^，。]{1,10}?)?(?:搬家?[到去回来进]了?|迁到|移居到?|移民到?了?|搬回了?)(?!底)", _moved),
    (r"来自于?|是从(?=[^，。]{2,8}来的)|(?:的)?老家(?:在|是)|(?:的)?家乡(?:在|是)|的?籍贯是", _comes_from),
    (rf"{_NOT}(?:就职于|任职于|供职于)(?P<where>[^，。！？\s]{{2,20}}){_END}", _works),
    (
        rf"{_NOT}在(?P<where>[^，。！？\s]{{2,16}}?)(?:做|当|担任|任)(?:一?[名个位])?(?P<job>[^，。！？\s]{{0,8}}(?:{words.PROFESSIONS})){_END}",
        _works,
    ),
    (
        rf"{_NOT}在(?P<where>[^，。！？\s]{{2,20}}?)(?:上班|工作|任职|就职|实习|打工|供职)(?:了)?(?=\s*(?:$|[，。！!,]|了|已经|快|\d|[一二三四五六七八九十]+年))",
        _works,
    ),
    (r"(?:刚)?从(?P<where>[^，。！？\s]{2,16}?)(?:离职|辞职|辞了职|跳槽|裸辞|退出)", _left),
    (r"(?:跳槽到?去?|入职了?|加入了?(?=[^，。]{1,10}(?:公司|集团|银行))|换到)(?!我)", _joined),
    (r"(?:升职?|晋升|提拔|被提拔)(?:为|成|到|做)了?|当上了?|转行(?:做|当)了?|转岗(?:做|到|为)", _promoted),
    (r"(?P<job>退休|失业|待业)了?(?=\s*(?:$|[，。！!,]|在家))", _retired),
    (
        r"在(?P<school>[^，。！？\s]{2,16}?)(?:读|念|(?<!大)学|上)(?P<what>[^，。！？\s]{1,10})?(?=\s*(?:$|[，。！!,]))",
        _studies,
    ),
    (r"(?:的)?(?:专业|主修的?)(?:是|学的是)?(?P<what>[^，。！？\s是]{2,14})(?=\s*(?:$|[，。！!,]))", _majors),
    (r"是(?:学|读)(?P<what>[^，。！？\s]{2,10})的(?=\s*(?:$|[，。！!,]))", _majors),
    (
        r"(?:正)?(?:在)?(?:[^，。！？\s]{2,10}?)?(?:上|读|念|是)(?P<what>(?:小学|初中|高中|大学)?[一二三四五六]年级|大[一二三四]|高[一二三]|初[一二三]|研[一二三])(?=\s*(?:$|[，。！!,]|了|学生))",
        _plain("grade"),
    ),
    (r"(?:是)?(?:从)?(?:毕业于|毕业自)(?P<school>[^，。！？\s]{3,16})(?=\s*(?:$|[，。！!,]))", _graduated),
    (r"从(?P<school>[^，。！？\s]{3,16}?(?:大学|学院|中学|高中))毕业", _graduated),
    (
        r"(?P<not>没有?|还没)?(?:是)?(?P<status>单身|离婚|离异|结婚|订婚|已婚|未婚|丧偶)(?P<le>了)?(?:的|状态)?(?=\s*(?:$|[，。！!,]))",
        _status,
    ),
    (
        r"(?P<not>已经不|不再|不)?对(?P<what>[^，。！？\s]{1,20}?)(?:严重|有点|轻微|已经)?(?P<n2>不)?(?:会)?过敏",
        _allergic,
    ),
    (
        rf"(?P<not>没)?(?:有|患有|得了|患上了?|查出了?|被?(?:诊断出|确诊(?:为|了)?|诊断为)(?:患?有|了)?)(?:轻度|重度|慢性|严重的?|遗传性|[一二][型期])?(?P<what>{words.CONDITIONS})",
        _health,
    ),
    (rf"是(?P<what>(?:{words.CONDITIONS}))患者", _health),
    (r"(?P<not>不)?(?:是(?:一?[个名位])?)?(?:严格的?|纯)?(?P<diet>素食)(?:主义)?者?(?=\s*(?:$|[，。！!,]|了))", _diet),
    (r"(?P<not>不再?)?(?:只|改|开始|已经)?(?P<diet>吃素|生酮饮食|吃纯素)(?=\s*(?:$|[，。！!,]|了|的))", _diet),
    (
        rf"(?:家)?(?:里)?(?:(?P<not>没)有?|有|养了?|领养了|收养了|生了)(?P<many>{_NUMBER}{_MEASURE}|[个只条])?(?:可爱的?|小)?(?P<noun>孩子|小孩|娃|{words.PETS}|{'|'.join(sorted(words.RELATIONS, key=len, reverse=True))})"
        rf"(?:名?叫(?P<name>{NAME}))?(?=\s*(?:$|[，。！!,]))",
        _has,
    ),
    (
        rf"(?:(?P<not>没)有?|有)(?:自己的)?(?:{_NUMBER}[辆台套部把架艘家间栋]|[辆台套部把架艘间栋])?(?P<what>[^，。！？\s]{{0,8}}(?:{words.POSSESSIONS}))(?=\s*(?:$|[，。！!,]|了))",
        _owns,
    ),
    (rf"有{_NUMBER}[辆台套部架艘栋](?P<what>[^，。！？\s]{{1,14}})(?=\s*(?:$|[，。！!,]))", _owns),
    (rf"(?:新)?买了{_NUMBER}?[辆台套部把架艘栋](?P<what>[^，。！？\s]{{1,14}})(?=\s*(?:$|[，。！!,]))", _owns),
    (r"(?P<gone>把)(?:我的?)?(?P<what>[^，。！？\s]{1,8}?)(?:给)?卖(?:掉)?了?", _owns),
    (r"(?P<gone>卖(?:掉)?了)(?:我的?|那?[辆台套部])?(?P<what>[^，。！？\s]{1,8})(?=\s*(?:$|[，。！!,]))", _owns),
    (
        rf"(?P<not>不)?(?:会说?|能说|会讲|说|讲|精通)(?:一点儿?|流利的?)?(?P<what>(?:{words.LANGUAGES})[^，。！？]{{0,30}})",
        _speaks,
    ),
    (rf"的?(?:母语|第一语言)(?P<not>不)?是(?P<what>(?:{words.LANGUAGES}))", _speaks),
    (
        r"(?<!不)会(?P<what>(?:弹|拉|吹|打|说)?(?:钢琴|吉他|小提琴|古筝|二胡|笛子)|开车|游泳|滑雪|跳舞|画画|编程|做饭|下棋|书法)(?=\s*(?:$|[，。！!,]))",
        _knows,
    ),
    (r"的?(?:兴趣爱好|爱好|兴趣)(?:是|有|包括)(?P<what>[^。！？]{1,40})", _hobbies),
    (r"(?P<what>怀孕)了?(?=\s*(?:$|[，。！!,]))", _health),
    (
        r"(?:会用?|精通|擅长|熟悉)(?P<what>[A-Za-z][A-Za-z+# .]{0,20}(?:(?:、|和|,|，)[A-Za-z][A-Za-z+#.]{0,20}){0,6})(?=\s*(?:$|[，。！!,]))",
        _knows,
    ),
    (r"(?:正|最近)?在(?:学习?|自学)(?P<what>[^，。！？\s]{1,12})(?=\s*(?:$|[，。！!,]))", _learning),
    (
        r"的?(?:电子)?(?:邮箱|邮件地址)(?:地址)?(?:是|为|:|：)\s*(?P<what>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})",
        _plain("email"),
    ),
    (r"的?(?:手机号码?|电话号?码?|手机|联系电话)(?:是|为)\s*(?P<what>\+?\d[\d -]{5,20}\d)", _plain("phone")),
    (
        r"的?身高(?:是|有)?\s*(?P<what>[一二]米[一二三四五六七八九零\d]{1,3}|\d(?:\.\d+)?米|\d{3}\s?(?:cm|厘米|公分)?)",
        _plain("height"),
    ),
    (r"的?体重(?:是|有)?\s*(?P<what>\d{2,3}(?:\.\d+)?\s?(?:公斤|斤|千克|kg))", _plain("weight")),
)
FACTS: tuple[tuple[re.Pattern[str], Rule], ...] = tuple((re.compile(pattern), rule) for pattern, rule in _TABLE)
__all__ = ["CHINESE_TIME", "FACTS"]
