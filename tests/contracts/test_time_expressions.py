"""What every TimeExpressions promises."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.adapters.time_expressions import GrammarTimeExpressions
from memsidecar.domain.calendar_spans import end_micros, start_micros
from memsidecar.domain.time_span import TimeSpan
from memsidecar.ports.time_expressions import TimeExpressions

NOW = datetime(2026, 8, 12, 14, 30, tzinfo=UTC)  # a Wednesday
TIMES: TimeExpressions = GrammarTimeExpressions()


def days(first: str, last: str) -> tuple[int, int]:
    return start_micros(date.fromisoformat(first), UTC), end_micros(date.fromisoformat(last), UTC)


def ends(span: TimeSpan | None) -> tuple[int | None, int | None] | None:
    return None if span is None else (span.start, span.end)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did I say yesterday?", "2026-08-11", "2026-08-11"),
        ("last week", "2026-08-03", "2026-08-09"),
        ("in June", "2026-06-01", "2026-06-30"),
        ("in December", "2025-12-01", "2025-12-31"),
        ("two weeks ago", "2026-07-29", "2026-07-29"),
        ("a few days ago", "2026-08-07", "2026-08-10"),
        ("last spring", "2026-03-01", "2026-05-31"),
        ("last summer", "2025-06-01", "2025-08-31"),
        ("on Wednesday", "2026-08-05", "2026-08-05"),
        ("2024-03-03", "2024-03-03", "2024-03-03"),
        ("between March 3 and March 10", "2026-03-03", "2026-03-10"),
        ("from 2019 to 2021", "2019-01-01", "2021-12-31"),
        ("since last week", "2026-08-03", "2026-08-12"),
        ("the week before August 3, 2023", "2023-07-27", "2023-08-02"),
        ("last weekend before April 10, 2023", "2023-04-08", "2023-04-09"),
        ("two weeks before August 11, 2023", "2023-07-28", "2023-07-28"),
        ("the Friday after 15 July 2023", "2023-07-21", "2023-07-21"),
        ("2023年8月3日前一周", "2023-07-27", "2023-08-02"),
        ("Q3 last year", "2025-07-01", "2025-09-30"),
        ("上周三我做了什么", "2026-08-05", "2026-08-05"),
        ("去年国庆去了哪里", "2025-10-01", "2025-10-07"),
        ("去年春节", "2025-01-29", "2025-02-04"),
        ("2024年3月初", "2024-03-01", "2024-03-10"),
        ("从3月到5月", "2026-03-01", "2026-05-31"),
        ("最近三天", "2026-08-09", "2026-08-12"),
        ("下半年", "2026-07-01", "2026-12-31"),
        ("2020年以后", "2021-01-01", "2026-08-12"),
    ],
)
def test_a_text_is_about_the_days_that_it_names(text: str, first: str, last: str) -> None:
    assert ends(TIMES.resolve(text, NOW)) == days(first, last)


@pytest.mark.parametrize(
    ("text", "first_after"),
    [
        ("before 2020", "2020-01-01"),
        ("2020年以前", "2020-01-01"),
        ("2020年之前", "2020-01-01"),
        ("1998年前", "1998-01-01"),
        ("二〇二〇年以前", "2020-01-01"),
        ("5月以前", "2026-05-01"),
        ("十二月之前", "2025-12-01"),
        ("2024年5月以前", "2024-05-01"),
    ],
)
def test_before_a_year_or_a_month_has_no_beginning(text: str, first_after: str) -> None:
    assert ends(TIMES.resolve(text, NOW)) == (None, days(first_after, first_after)[0])


@pytest.mark.parametrize("text", ["两千年前", "五个月前", "20年前", "三年以前"])
def test_an_amount_before_now_is_no_date(text: str) -> None:
    found = TIMES.resolve(text, NOW)
    assert found is not None
    assert found.start is not None
    assert found.vague


@pytest.mark.parametrize(
    "text",
    [
        "",
        "how does the reranker work",
        "may I ask a question",
        "she may march on",
        "/srv/2024/01/15/app.log",
        "release-2024-01-15-rc1",
        "in 2000 words",
        "31 February 2020",
        "every Monday",
        "100000 years ago",
        "十亿年前",
        "一周一次",
        "这个功能怎么用",
    ],
)
def test_what_names_no_time_has_none(text: str) -> None:
    assert TIMES.find(text, NOW) == ()


def test_days_begin_where_the_reference_is() -> None:
    shanghai = ZoneInfo("Asia/Shanghai")
    late = datetime(2026, 8, 12, 1, 0, tzinfo=shanghai)  # still the 11th in UTC
    span = TIMES.resolve("yesterday", late)
    assert ends(span) == (start_micros(date(2026, 8, 11), shanghai), end_micros(date(2026, 8, 11), shanghai))


def test_an_open_range_has_one_side() -> None:
    before, until = TIMES.resolve("before 2020", NOW), TIMES.resolve("since next Monday", NOW)
    assert ends(before) == (None, days("2020-01-01", "2020-01-01")[0])
    assert ends(until) == (days("2026-08-17", "2026-08-17")[0], None)


def test_times_come_in_order_with_their_places() -> None:
    text = "Last week, or was it 上个月? On 3 March 2024 I knew."
    places = [text[span.text_start : span.text_end] for span in TIMES.find(text, NOW)]
    assert places == ["Last week", "上个月", "3 March 2024"]


def test_places_are_those_of_the_text_as_it_was_given() -> None:
    text = "İstanbul, août 2024 — ＬＡＳＴ ＷＥＥＫ"
    assert [text[s.text_start : s.text_end] for s in TIMES.find(text, NOW)] == ["août 2024", "ＬＡＳＴ ＷＥＥＫ"]


def test_words_that_name_no_exact_range_say_so() -> None:
    ago, exact = TIMES.resolve("two months ago", NOW), TIMES.resolve("3 March 2024", NOW)
    assert ago is not None
    assert exact is not None
    assert ago.vague
    assert ago.slack > 0
    assert not exact.vague
    assert exact.slack == 0


WORDS = st.sampled_from(
    "last next this the week month year day days ago in from to between and since before after may march june 3 31 29 "
    "2024 0000 9999 99999 february q1 half quarter spring monday christmas a few couple of and a half century 上 下 周 "
    "月 年 日 前 后 半 三 十 亿 万 去年 国庆 春节 2024年 最近 到 从 初 底 第 季度 "
    "hace vor il y a lunes pasado hier 13/13/2024 ' - ."
    .split()
)  # fmt: skip
TEXTS = st.text() | st.lists(WORDS, max_size=12).map(" ".join) | st.lists(WORDS, max_size=12).map("".join)
ZONES = st.sampled_from([UTC, ZoneInfo("Asia/Shanghai"), ZoneInfo("America/St_Johns"), timezone(timedelta(hours=-23))])


@given(TEXTS, st.datetimes(timezones=ZONES))
def test_no_text_and_no_reference_is_too_much(text: str, reference: datetime) -> None:
    at = 0
    for span in TIMES.find(text, reference):
        assert at <= span.text_start < span.text_end <= len(text)
        assert span.start is not None or span.end is not None
        assert span.start is None or span.end is None or span.start < span.end
        at = span.text_end


@pytest.mark.parametrize("piece", ["上周 ", "last week ", "1/", "from may to ", "十月十", "the early ", "一", "a few "])
def test_a_long_text_is_read_in_part(piece: str) -> None:
    assert len(TIMES.find(piece * (65_536 // len(piece)), NOW)) <= 12
