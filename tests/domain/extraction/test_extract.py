from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.claims import Claim, Manner
from memsidecar.domain.extraction.extract import MAX_CLAIMS, MAX_READ, extract
from memsidecar.domain.memory import Kind

PIECES = [
    "I live in ",
    "my sister Anna ",
    "I'm ",
    "and ",
    ", ",
    ". ",
    "? ",
    '"',
    "'",
    "“",
    "```",
    "`",
    "\n",
    "not ",
    "I like tea, jazz and hiking",
    "because ",
    "since 2020 ",
    "last week ",
    "used to ",
    "the deadline moved to March 3",
    "我",
    "住在",
    "上海",
    "喜欢",
    "，",
    "。",
    "不",
    "以前",
    "对",
    "过敏",
    "叫",
    "的",
    "了",
    "《",
    "》",
    "🙂",
    "\ufffc",
    "MY ",
    "favourite colour is ",
    "I left ",
    "I joined ",
    "I stopped ",
    "eating meat ",
    "anymore ",
    "again ",
    "\n- ",
    "換手机号",
    "改名叫",
    "不喝",
    "戒",
    "東京",
]
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
HOSTILE = [
    "I ",
    "I'm a ",
    "I like a, ",
    "I like a and ",
    "my ",
    "my sister ",
    "not ",
    '"',
    "'I",
    "“",
    "`",
    "[",
    "<a",
    "I live in A",
    "和",
    "我",
    "我喜欢和",
    "我住在",
    "最近",
    "现在",
    "了",
    "and I ",
    ", ",
    "I have a a ",
    "I moved from a ",
    "1",
    "A ",
    "in 20",
    "January ",
    "我对",
    "从一月起",
    "( ",
    "- ",
    "I was ",
    "http://",
    "\n",
    "    ",
    "haha ",
    "I love the ",
    "a-",
    "I 'm ",
    "I left Ab ",
    "I joined Ab & ",
    "I stopped going ",
    "I changed my number, ",
    "我换手机号了，新的",
    "我改名叫",
    "我不再",
    "我离开王",
    "- ",
    "1. ",
    "I live in 東",
]


def _only(text: str) -> Claim:
    claims = extract(text)
    assert len(claims) == 1, claims
    return claims[0]


@given(TEXTS)
def test_any_text_is_read_without_an_error_and_every_span_is_inside_it(text: str) -> None:
    for claim in extract(text):
        assert 0 <= claim.span.start < claim.span.end <= len(text)
        assert claim.time is None or 0 <= claim.time.start < claim.time.end <= len(text)
        assert claim.value.strip()
        assert claim.statement.strip()
        assert len(claim.statement) <= 300
        assert -1 <= claim.polarity <= 1
        assert 0 <= claim.confidence <= 1
        assert 0 <= claim.importance <= 1
        assert (claim.kind is Kind.PREFERENCE) == (claim.polarity != 0)


@given(TEXTS)
def test_the_same_text_gives_the_same_claims(text: str) -> None:
    assert extract(text) == extract(text)


@given(TEXTS)
def test_a_question_mark_after_it_never_makes_a_text_say_more(text: str) -> None:
    assert len(extract(text.rstrip(".!。！") + "?")) <= len(extract(text)) + 1


@pytest.mark.parametrize("piece", HOSTILE)
def test_half_a_megabyte_of_one_pattern_takes_no_time(piece: str) -> None:
    text = piece * (524_288 // len(piece))
    began = time.thread_time()
    extract(text)
    # A few ms; a pattern that backtracks takes minutes.
    assert time.thread_time() - began < 2


def test_no_more_is_read_and_given_than_promised() -> None:
    assert extract("x" * MAX_READ + ". I live in Oslo.") == ()
    many = " ".join(f"I like thing{i}." for i in range(MAX_CLAIMS * 2))
    assert len(extract(many)) == MAX_CLAIMS


def test_the_statement_is_the_clause_as_written() -> None:
    claims = extract("I'm Canadian, but I live in Oslo with two cats.")
    assert [claim.statement for claim in claims] == ["I'm Canadian", "I live in Oslo with two cats"]


def test_a_clause_without_a_subject_of_its_own_is_stated_with_the_one_before_it() -> None:
    claims = extract("I hate smoke and refuse to stay in hotels. 我叫李娜，住在上海。")
    assert [claim.statement for claim in claims] == [
        "I hate smoke",
        "I hate smoke and refuse to stay in hotels",
        "我叫李娜",
        "我叫李娜，住在上海",
    ]


def test_the_span_is_where_the_evidence_stands() -> None:
    text = "Hello! I work at Acme. Bye."
    claim = _only(text)
    assert text[claim.span.start : claim.span.end] == "I work at Acme"


def test_four_wishes_about_the_answers_said_at_once_are_one() -> None:
    claim = _only("From now on, be brief, use bullet points, avoid jargon and no emojis.")
    assert (claim.attribute, claim.kind) == ("answer_style", Kind.PREFERENCE)


def test_strength_is_in_the_polarity() -> None:
    strengths = [
        _only(text).polarity
        for text in ("I hate rain.", "I don't like rain.", "I like rain.", "I absolutely love rain.")
    ]
    assert strengths == sorted(strengths)
    assert strengths[0] < strengths[1] < 0 < strengths[2] < strengths[3]


def test_a_second_sentence_may_take_the_first_for_a_joke() -> None:
    assert extract("I love Mondays. Just kidding.") == ()


@pytest.mark.parametrize(
    "text",
    ["No, I live in Bergen.", "Actually, I live in Bergen.", "I live in Bergen, not Oslo.", "不对，我住在Bergen。"],
)
def test_a_correction_is_told_from_a_change(text: str) -> None:
    assert _only(text).manner is Manner.CORRECTED


@pytest.mark.parametrize(
    "text", ["I moved to Bergen.", "I now live in Bergen.", "I no longer live in Bergen.", "我搬到Bergen了。"]
)
def test_a_change_is_told_from_a_correction(text: str) -> None:
    assert _only(text).manner is Manner.CHANGED


@pytest.mark.parametrize(
    "text",
    [
        "My sister Anna loves jazz.",
        "She said my sister Anna loves jazz.",
        "My friends like sushi and they hate rain.",
        "我妹妹喜欢爵士乐。",
    ],
)
def test_what_others_like_is_nobodys_preference(text: str) -> None:
    assert [claim for claim in extract(text) if claim.kind is Kind.PREFERENCE] == []


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("i live in oslo", "lives_in", "oslo"),
        ("im vegan", "diet", "vegan"),
        ("I dont like olives", "likes", "olives"),
        ("我住在臺北", "lives_in", "臺北"),
        ("我討厭香菜", "likes", "香菜"),
        ("我在Google上班", "employer", "Google"),
    ],
)
def test_sloppy_traditional_and_mixed_writing_is_read_and_kept_as_written(
    text: str, attribute: str, value: str
) -> None:
    claim = _only(text)
    assert (claim.attribute, claim.value) == (attribute, value)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("I like tea, jazz and hiking.", ["tea", "jazz", "hiking"]),
        ("I dislike the taste and smell of fish.", ["taste and smell of fish"]),
        ("I hate crowded, noisy places.", ["crowded, noisy places"]),
        ("I like rock and roll.", ["rock and roll"]),
        ("我喜欢喝茶、听音乐和爬山。", ["喝茶", "听音乐", "爬山"]),
    ],
)
def test_a_list_is_several_claims_and_words_that_share_others_are_one(text: str, values: list[str]) -> None:
    assert [claim.value for claim in extract(text)] == values


@pytest.mark.parametrize(
    "text",
    [
        "I'm trying to keep control and avoid risks.",
        "I went to the beach.",
        "I updated it yesterday.",
        "I enrolled in a Monday course.",
        "I might go to Rome next week.",
        "I'm going to need that tomorrow.",
        "I own my mistakes.",
        "I work best at night.",
        "我在北京玩了三天。",
        "我喜欢的类型是悬疑。",
    ],
)
def test_what_is_tried_vague_or_a_figure_of_speech_is_not_read(text: str) -> None:
    assert extract(text) == ()


def test_a_sentence_may_take_back_the_one_before_it() -> None:
    claim = _only("Oops, I misspoke. My birthday is June 4.")
    assert claim.manner is Manner.CORRECTED


def test_a_deadline_named_in_passing_is_read() -> None:
    claim = _only("I'm planning with a deadline of April 1, 2024, for the first sprint, can you help?")
    assert (claim.attribute, claim.value) == ("deadline:first sprint", "April 1, 2024")
    assert claim.statement == "I'm planning with a deadline of April 1, 2024, for the first sprint"


def test_somebody_named_in_passing_is_read() -> None:
    claim = _only("We took pictures at the party of my daughter Sara.")
    assert (claim.attribute, claim.value, claim.entity_type) == ("child", "Sara", "person")


def test_code_around_a_statement_does_not_hide_it() -> None:
    text = "I live in Oslo.\n```python\nname = 'I live in Rome'\n```\nI work at Acme."
    assert [claim.value for claim in extract(text)] == ["Oslo", "Acme"]


@pytest.mark.parametrize(
    "text",
    [
        "Fix the grammar: I am live in Berlin.",
        "Here is my sentence: I live in Berlin.",
        "示例：我的名字是张三。",
        "I'm not a doctor, but that looks bad.",
        "我不是医生，但这看起来很严重。",
        "I'm married to the idea.",
        "I work with Anna.",
        "I prefer option A.",
        "我更喜欢第一个。",
        "My goal is to understand this.",
        "My sister's husband works at Google.",
        "我姐姐的丈夫在谷歌工作。",
        "Say I'm 30 and live in Rome, what taxes do I pay?",
    ],
)
def test_examples_figures_of_speech_and_what_only_the_talk_explains_are_not_read(text: str) -> None:
    assert extract(text) == ()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("The user lives in Berlin and works at Siemens.", [("lives_in", "Berlin"), ("employer", "Siemens")]),
        ("User's name is Anna.", [("name", "Anna")]),
        ("Prefers composition over inheritance.", [("prefers", "composition over inheritance")]),
        ("Lives in Oslo. Has two kids.", [("lives_in", "Oslo"), ("children", "two")]),
        ("用户喜欢爵士乐，住在上海。", [("likes", "爵士乐"), ("lives_in", "上海")]),
        ("The user can log in with a password.", []),
        ("Users like dark mode.", []),
        ("我做的产品，用户喜欢简洁的界面。", []),
        ("Works for me!", []),
    ],
)
def test_notes_about_the_user_are_about_the_speaker(text: str, read: list[tuple[str, str]]) -> None:
    claims = extract(text)
    assert [(claim.attribute, claim.value) for claim in claims] == read
    assert {claim.subject for claim in claims} <= {""}
