"""The demo's story: seven months of one person and her assistant, in the two languages that she lives in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Talk:
    """One session: its day and its turns (speaker, text)."""

    session: str
    day: datetime
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question that the demo asks, with what a good answer holds."""

    text: str
    expects: str


def _day(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, 19, 30, tzinfo=UTC)


USER = "mei"

TALKS = (
    Talk(
        "new-year",
        _day(2026, 1, 4),
        (
            ("Mei", "Hi! I'm Mei. I live in Hangzhou and I work as a translator for a small publisher."),
            ("assistant", "Nice to meet you, Mei! What would you like help with this year?"),
            ("Mei", "Two things: I want to run a half marathon in autumn, and I'd like to learn Portuguese."),
            ("Mei", "One warning before you ever suggest a recipe: I'm allergic to peanuts."),
            ("assistant", "Noted: no peanuts. A half marathon and Portuguese sound like a good year."),
        ),
    ),
    Talk(
        "狗狗",
        _day(2026, 2, 11),
        (
            ("Mei", "我今天领养了一只柯基，给它取名叫豆包。"),
            ("assistant", "恭喜！豆包多大了？"),
            ("Mei", "两岁。医生说它膝盖不好，不能跑太久，所以我晨跑的时候它在家睡觉。"),
            ("Mei", "对了，我每天早上只喝拿铁，不加糖，没有咖啡我根本起不来。"),
        ),
    ),
    Talk(
        "plans",
        _day(2026, 3, 2),
        (
            ("Mei", "Big news: the publisher Aurora Press in Lisbon offered me a job as an editor!"),
            ("assistant", "Congratulations! When would you start?"),
            ("Mei", "They want me on May 4. My flight to Lisbon is on April 20, with TAP."),
            ("Mei", "My sister 林晓 will keep 豆包 until I have found a flat."),
        ),
    ),
    Talk(
        "correction",
        _day(2026, 3, 9),
        (
            ("Mei", "Actually, I have to correct myself: the flight is on April 23, not April 20. They moved it."),
            ("assistant", "Thanks, April 23 it is."),
            ("Mei", "My first 10 km run took me 58:40, by the way. I'm quite proud."),
        ),
    ),
    Talk(
        "里斯本",
        _day(2026, 5, 17),
        (
            ("Mei", "我已经搬到里斯本了，住在阿尔法玛区，窗外能看到特茹河。"),
            ("assistant", "新工作怎么样？"),
            ("Mei", "同事都很好，主编叫Inês，她在教我做葡式蛋挞。"),
            ("Mei", "医生让我少喝咖啡，所以我现在不喝拿铁了，早上改喝绿茶。"),
        ),
    ),
    Talk(
        "summer",
        _day(2026, 6, 28),
        (
            ("Mei", "Doubao finally arrived in Lisbon yesterday! My sister brought him on the plane."),
            ("Mei", "I signed up for the Porto half marathon on September 20."),
            ("assistant", "Wonderful, both of them! How is the training going?"),
            ("Mei", "Better: 10 km in 52:15 last Sunday, along the river from Belém."),
        ),
    ),
    Talk(
        "读书",
        _day(2026, 7, 30),
        (
            ("Mei", "最近在编辑一本关于茶马古道的书，作者是葡萄牙人，写得真好。"),
            ("Mei", "我生日是11月3日，想和妹妹一起去马德拉岛过。"),
            ("assistant", "马德拉岛的十一月还很暖和，是个好主意。"),
            ("Mei", "For presents I'd rather have books than flowers; flowers just make 豆包 sneeze."),
        ),
    ),
)

# A week after the last session.
ASKED_AT = datetime(2026, 8, 6, 9, 0, tzinfo=UTC)

QUESTIONS = (
    Question("Where does Mei live now?", "里斯本"),
    Question("她的狗叫什么名字？", "豆包"),
    Question("When is the flight to Lisbon?", "April 23"),
    Question("What should I know before I cook for her?", "peanuts"),
    Question("她早上喝什么？", "绿茶"),
    Question("How fast did she run 10 km?", "52:15"),
    Question("Who is Inês?", "主编"),
    Question("她的生日打算怎么过？", "马德拉岛"),
    Question("What would make a good present?", "books"),
)
