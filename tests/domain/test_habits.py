from __future__ import annotations

import pytest

from memsidecar.domain.habits import habit_key, kind_of, kind_preferred, on_weekday, thing_liked


@pytest.mark.parametrize(
    ("habit", "denied"),
    [
        ("drink coffee every morning", "drinking coffee"),
        ("go running every Sunday", "running"),
        ("go to the gym twice a week", "gym"),
        ("swim on Mondays", "swim"),
        ("每天早上都喝咖啡", "喝咖啡"),
        ("每周三去健身房", "去健身房"),
    ],
)
def test_a_habit_is_the_same_however_often_it_is(habit: str, denied: str) -> None:
    assert habit_key(habit) == habit_key(denied)


@pytest.mark.parametrize(("one", "other"), [("drink tea", "drink coffee"), ("每天跑步", "每天游泳"), ("run", "read")])
def test_two_habits_are_two(one: str, other: str) -> None:
    assert habit_key(one) != habit_key(other)


def test_what_is_nothing_but_often_keeps_a_key() -> None:
    assert habit_key("every day") == "every day"


@pytest.mark.parametrize(
    ("text", "thing"),
    [("drinking coffee", "coffee"), ("playing the piano", "piano"), ("喝咖啡", "咖啡"), ("打篮球", "篮球")],
)
def test_what_is_eaten_drunk_or_played_is_liked(text: str, thing: str) -> None:
    assert thing_liked(text) == thing


@pytest.mark.parametrize("text", ["eating", "吃", "hiking", "drinking"])
def test_a_doing_alone_is_the_thing(text: str) -> None:
    assert thing_liked(text) == text


def test_kinds_are_told_by_the_last_word_of_what_is_preferred() -> None:
    assert kind_preferred("window seats", "I prefer window seats") == kind_preferred(
        "aisle seat", "I prefer aisle seat"
    )
    assert kind_preferred("靠窗的座位", "我更喜欢靠窗的座位") == "座位"
    assert kind_preferred("window seats", "I like window seats") == ""
    assert kind_of("reading books") == kind_of("tea") == ""


def test_a_day_of_the_week_is_no_number() -> None:
    assert on_weekday("每周三去健身房")
    assert not on_weekday("每天跑三公里")
