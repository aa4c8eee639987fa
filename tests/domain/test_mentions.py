from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.mentions import MAX_MENTIONS, MAX_NAME, Mention, find_mentions

NAMED = [
    ("I met Melanie in Grand Canyon.", ["Melanie", "Grand Canyon"]),
    ("Hey Caroline! Good to see you, Mel.", ["Caroline", "Mel"]),
    ("Then Bach and Mozart were played", ["Bach", "Mozart"]),
    ("We work at Procter & Gamble", ["Procter & Gamble"]),
    ("the University of Oslo is old", ["University of Oslo"]),
    ("the LGBTQ group on TikTok", ["LGBTQ", "TikTok"]),
    ("Tell Melanie's sister", ["Melanie"]),
    ("we saw Émile Zola and Łukasz", ["Émile Zola", "Łukasz"]),
    ("read “The Lean Startup” twice", ["The Lean Startup"]),
    ("ping @wren_99 or bob@example.com", ["@wren_99"]),
    ("see https://example.com/a?b=1.", ["https://example.com/a?b=1"]),
    ("it weighs 12.5 kg and costs $1,200.50", ["12.5 kg", "$1,200.50"]),
    ("Bart很开心", ["Bart"]),
    ("Bart和好朋友Jimmy去公园", ["Bart", "Jimmy"]),
    ("我叫张伟，在北京大学工作", ["张伟", "北京大学"]),
    ("王小明喜欢吃苹果", ["王小明"]),
    ("和李华去了上海", ["李华", "上海"]),
    ("陈佳怡告诉我", ["陈佳怡"]),
    ("我跟王老师说过", ["王老师"]),
    ("看了《三体》", ["三体"]),
    ("김민수씨 만났어", ["김민수"]),
    ("田中さんと会った", ["田中"]),
    ("マイケル・ジャクソンの歌", ["マイケル・ジャクソン"]),
]
UNNAMED = [
    "Why did that happen? Because we were late. Running is fun.",
    "May I go? I think so. On Monday, in March, we did.",
    "I AM SO HAPPY TODAY. BTW, OK, LOL",
    "Thanks! Wow. Great. Awesome. Bye.",
    'He said "I love you" and "Good luck!"',
    "1. Wash\n2. Rinse\n- Dry",
    "  Leading spaces are no sentence",
    "高兴的是他来了，张开嘴说话",
    "马上去。方便的话，常常来。",
    "白天在家，白色的墙，金钱是什么",
    "王者的江边，石头和石油",
    "安静，谢谢，周末去，高中的时候",
    "语文老师说，班主任老师也在",
    "英语老师和历史老师来了",
    "这家公司和一家餐厅，我去了医院",
    "我在他的公司，附近的图书馆很大",
    "钱总是不够，我和同学去，对方的",
    "任何人说，于是他问，许多人在，何时去",
    "선생님에게 친구에게 고객님",
    "コーヒーとテレビとお客様とお母さん",
]


@pytest.mark.parametrize(("text", "names"), NAMED)
def test_names_are_found(text: str, names: list[str]) -> None:
    assert [mention.name for mention in find_mentions(text)] == names


@pytest.mark.parametrize("text", UNNAMED)
def test_ordinary_words_are_no_names(text: str) -> None:
    assert find_mentions(text) == ()


def test_kinds_are_told_where_the_text_tells_them() -> None:
    text = "张伟在北京大学看《三体》，花了30元，问 @wren99，见 https://a.example/x"
    assert {m.name: m.type for m in find_mentions(text)} == {
        "张伟": "person",
        "北京大学": "organisation",
        "三体": "work",
        "30元": "quantity",
        "@wren99": "handle",
        "https://a.example/x": "url",
    }


def test_a_name_counts_once_in_order_of_appearance() -> None:
    assert find_mentions("we saw Wren, then Ada, then Wren") == (Mention("Wren"), Mention("Ada"))


def test_a_word_that_begins_a_sentence_counts_when_it_is_a_name_elsewhere() -> None:
    assert [m.name for m in find_mentions("Wren came. I like Wren.")] == ["Wren"]
    assert find_mentions("Wren came. Wren left.") == ()


def test_what_is_found_is_bounded() -> None:
    names = " met ".join(f"Xa{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(400))
    found = find_mentions("we " + names)
    assert len(found) == MAX_MENTIONS
    assert all(len(m.name) <= MAX_NAME for m in find_mentions("we " + "A" + "b" * 5000))


HOSTILE = [
    "A ",
    "@",
    '"A',
    "1,",
    "1.",
    "“",
    "《A",
    "Foo. ",
    "Ab Cd, ",
    "http://",
    "A.",
    "A-'",
    "A&",
    "王",
    "张三在",
    "中a",
    "好大",
]
HOSTILE += [
    "ア・",
    "ア",
    "김가 ",
    "한",
    "A of ",
    "A of the ",
    "$1,",
    '"Ab Cd" ',
    "$",
    "9",
    "9 ",
    "'",
    "é",
    "大学",
    "A\u0301",
    "公司A",
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.timeout(10)
def test_no_text_makes_the_rules_slow(unit: str) -> None:
    find_mentions(unit * (100_000 // len(unit)))


@pytest.mark.timeout(10)
def test_many_different_sentence_starts_are_not_slow() -> None:
    find_mentions(". ".join(f"Zz{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(4000)))


@given(st.text() | st.text(st.sampled_from('Ab 王明在说“"《》@1,.公司ア・さん김씨')))
def test_any_text_has_well_formed_mentions(text: str) -> None:
    found = find_mentions(text)
    assert all(m.name and m.name == m.name.strip() for m in found)
    assert len({m.name for m in found}) == len(found) <= MAX_MENTIONS
