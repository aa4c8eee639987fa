"""What a text names, in the words of the grammar's own languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memsidecar.adapters.time_expressions import GrammarTimeExpressions

NOW = datetime(2026, 8, 12, 14, 30, tzinfo=UTC)  # a Wednesday
TIMES = GrammarTimeExpressions()


def moment(micros: int | None) -> datetime | None:
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def days(text: str) -> list[str]:
    """Each time as its first day, and its last where that is another."""
    found = []
    for span in TIMES.find(text, NOW):
        first, last = moment(span.start), moment(None if span.end is None else span.end - 1)
        ends = [str(each.date()) if each else "" for each in (first, last)]
        found.append(ends[0] if ends[0] == ends[1] else "..".join(ends))
    return found


def hours(text: str) -> tuple[str, str]:
    span = TIMES.find(text, NOW)[0]
    first, last = moment(span.start), moment(span.end)
    assert first is not None
    assert last is not None
    return f"{first:%d %H:%M}", f"{last:%d %H:%M}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("昨天下午三点开会", ["2026-08-11"]),
        ("今天下雨", ["2026-08-12"]),
        ("前天下班以后", ["2026-08-10"]),
        ("明天下午", ["2026-08-13"]),
        ("上周年会", ["2026-08-03..2026-08-09"]),
        ("三天前面试", ["2026-08-09"]),
        ("去年3月5日线上会议", ["2025-03-05"]),
        ("3月5号机场见", ["2026-03-05"]),
        ("去年初中毕业", ["2025-01-01..2025-12-31"]),
        ("前几天后来下雨", ["2026-08-07..2026-08-10"]),
        ("晚上周三聚会", ["2026-08-12"]),
    ],
)
def test_a_chinese_time_stays_one_before_a_word_that_begins_as_others_do(text: str, expected: list[str]) -> None:
    assert days(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "当今天下大势",
        "以前天气好",
        "说明天气情况",
        "光明日报",
        "上年纪的人",
        "过去年轻的时候",
        "两周前端开发",
        "这一周年",
    ],
)
def test_a_part_of_a_chinese_word_is_no_time(text: str) -> None:
    assert days(text) == []


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2025 年 3 月 5 日", "2025年3月5日"),
        ("3 天前", "3天前"),
        ("上 周三", "上周三"),
        ("去年 国庆", "去年国庆"),
        ("昨天 下午", "昨天下午"),
        ("最近 3 天", "最近3天"),
        ("２０２５年　３月", "2025年3月"),
        ("지난 주", "지난주"),
        ("last  week", "last week"),
        ("two \t weeks\u00a0\u2009ago", "two weeks ago"),
        ("last\r\nweek", "last week"),
    ],
)
def test_spaces_within_a_time_say_nothing(text: str, same: str) -> None:
    assert days(text) == days(same) != []
    (span,) = TIMES.find(f"— {text} —", NOW)
    assert f"— {text} —"[span.text_start : span.text_end] == text.removesuffix("下午").rstrip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("上周 三个人来了", ["2026-08-03..2026-08-09"]),
        ("上周 5 天都下雨", ["2026-08-03..2026-08-09"]),
        ("2024 三月", ["2026-03-01..2026-03-31"]),
        ("who came last\n\nMonday is fine", ["2026-08-10"]),
    ],
)
def test_a_space_between_two_words_parts_them(text: str, expected: list[str]) -> None:
    assert days(text) == expected


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("in the last two hours", "12 12:30", "12 14:30"),
        ("最近两小时", "12 12:30", "12 14:30"),
        ("the past hour", "12 13:30", "12 14:30"),
        ("过去几个小时", "12 09:30", "12 14:30"),
        ("an hour ago", "12 13:00", "12 14:00"),
        ("半小时前", "12 13:45", "12 14:15"),
        ("a few hours ago", "12 09:30", "12 12:30"),
        ("20 hours ago", "11 18:00", "11 19:00"),
        ("hace dos horas", "12 12:00", "12 13:00"),
        ("since two hours ago", "12 12:00", "13 00:00"),
        ("from 3 hours ago to an hour ago", "12 11:00", "12 14:00"),
    ],
)
def test_hours_are_hours_and_not_the_day(text: str, first: str, last: str) -> None:
    assert hours(text) == (first, last)


def test_what_is_said_now_is_in_the_last_hour() -> None:
    span = TIMES.find("the last hour", NOW)[0]
    assert span.end is not None
    assert moment(span.end - 1) == NOW


def test_in_a_minute_is_no_time() -> None:
    assert days("I will be back in a minute") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("去年的今天", "2025-08-12"),
        ("上个月的今天", "2026-07-12"),
        ("this day last year", "2025-08-12"),
        ("去年这个时候", "2025-08-12"),
        ("this time last month", "2026-07-12"),
        ("春节后", "2026-02-24..2026-08-12"),
        ("after Christmas", "2025-12-26..2026-08-12"),
        ("2020年后", "2021-01-01..2026-08-12"),
        ("春节后来我家", "2026-02-17..2026-02-23"),
        ("春节后一周", "2026-02-24..2026-03-02"),
        ("五月第一周", "2026-05-01..2026-05-07"),
        ("the first week of May", "2026-05-01..2026-05-07"),
        ("last week of June 2024", "2024-06-24..2024-06-30"),
        ("the second Monday of March", "2026-03-09"),
        ("去年五月第二个周末", "2025-05-10..2025-05-11"),
        ("五月最后一天", "2026-05-31"),
        ("the first weekend of last month", "2026-07-04..2026-07-05"),
        ("since the first week of May", "2026-05-01..2026-08-12"),
        ("去年夏天到冬天", "2025-06-01..2026-02-28"),
        ("from last summer to winter", "2025-06-01..2026-02-28"),
        ("summer to winter 2024", "2024-06-01..2025-02-28"),
        ("in 2024 summer", "2024-06-01..2024-08-31"),
        ("last year's summer", "2025-06-01..2025-08-31"),
        ("2024 Q3", "2024-07-01..2024-09-30"),
        ("in 2024 March", "2024-03-01..2024-03-31"),
        ("去年3月到5月", "2025-03-01..2025-05-31"),
        ("上周一到周三", "2026-08-03..2026-08-05"),
        ("2020年中秋到春节", "2020-10-01..2021-02-18"),
        ("the spring before last", "2025-03-01..2025-05-31"),
        ("the Monday before last", "2026-08-03"),
        ("the Christmas before last", "2024-12-25"),
        ("the Monday before last Christmas", "2025-12-22"),
        ("a fortnight ago", "2026-07-29"),
        ("the last fortnight", "2026-07-29..2026-08-12"),
        ("three Mondays ago", "2026-07-27"),
        ("two summers ago", "2024-06-01..2024-08-31"),
        ("the nineties", "1990-01-01..1999-12-31"),
        ("九十年代", "1990-01-01..1999-12-31"),
        ("上世纪80年代", "1980-01-01..1989-12-31"),
        ("2010年代", "2010-01-01..2019-12-31"),
        ("2 yrs ago", "2024-08-12"),
        ("2wks ago", "2026-07-29"),
        ("一年半前", "2025-02-12"),
    ],
)
def test_a_time_within_or_beside_another_is_itself_and_not_the_other(text: str, expected: str) -> None:
    assert days(text) == [expected]


@pytest.mark.parametrize(
    "text", ["upgrade to Spring 5", "20年代", "the twenties", "she is in her thirties", "the first week"]
)
def test_what_could_be_any_time_is_none(text: str) -> None:
    assert days(text) == []
