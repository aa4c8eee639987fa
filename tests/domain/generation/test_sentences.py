from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.generation.sentences import Sentences, sentence_before


def ends(*pieces: str) -> list[int]:
    sentences = Sentences()
    return [end for piece in pieces for end in sentences.feed(piece)] + sentences.settle()


def split(text: str) -> list[str]:
    places = [0, *ends(text)]
    parts = [text[a:b] for a, b in zip(places, [*places[1:], len(text)], strict=True)]
    return [part for part in parts if part.strip()]


MIXED = [
    'Anna moved to Berlin. She said "I like it." Then (in 2024.) she left!',
    "Dr. Smith paid $3.14, e.g. for v1.2 of https://example.com/a.b?c=d. J. R. Hartley agreed... Right?! Yes!🎉 No.",
    "1. Buy milk.\n2. Call Mr. Wu.\n\n**Done.** And more",
    "我昨天见到了王伟。他说：“我喜欢北京！”真的吗？？……是的。价格是3.14元。用v1.2版。Dr. Li说OK.然后走了",
    "今日は東京に行きました。「楽しかった！」と言った。版は３．１４です…それから?はい",
    "मैं दिल्ली में हूँ। वह कहाँ है? كيف حالك؟ أنا بخير۔ Ich wohne z.B. in Bonn. Nr. 5 lebt!",
    "Wait.. what? No .NET here. i.e. nothing.\r\nEnd",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She stayed.", ["He left.", " She stayed."]),
        ("It is 3.14 or v1.2 today. Yes.", ["It is 3.14 or v1.2 today.", " Yes."]),
        ("Ask Dr. Smith, e.g. at 5 p.m. on Monday. Fine.", ["Ask Dr. Smith, e.g. at 5 p.m. on Monday.", " Fine."]),
        ("See https://a.com/b.c?d=e. Then go.", ["See https://a.com/b.c?d=e.", " Then go."]),
        ("So do I. Really?! Yes...  ok", ["So do I.", " Really?", "! Yes.", "..  ok"]),
        ('He said "Go." Then left', ['He said "Go.', '" Then left']),
        ("1. Buy milk\n2. Buy tea\nIn 2024. Then", ["1. Buy milk\n", "2. Buy tea\n", "In 2024.", " Then"]),
        ("Yes!🎉 Next", ["Yes!", "🎉 Next"]),
        ("我住在北京。你呢？好！", ["我住在北京。", "你呢？", "好！"]),
        ("他说：“走吧。”然后走了。", ["他说：“走吧。", "”然后走了。"]),
        ("OK.然后3.5元", ["OK.", "然后3.5元"]),
        ("「行こう。」と言った。はい", ["「行こう。", "」と言った。", "はい"]),
        ("मैं हूँ। कहाँ? كيف؟ نعم", ["मैं हूँ।", " कहाँ?", " كيف؟", " نعم"]),
        ("one\n\n\ntwo\r\n", ["one\n", "\n\ntwo\r", "\n"]),
        ("...", ["..."]),
    ],
)
def test_sentences_end_where_a_reader_says(text: str, expected: list[str]) -> None:
    assert split(text) == [part for part in expected if part.strip()]


@pytest.mark.parametrize("text", MIXED)
def test_one_cut_anywhere_changes_no_end(text: str) -> None:
    assert all(ends(text[:cut], text[cut:]) == ends(text) for cut in range(len(text) + 1))
    assert ends(*text) == ends(text)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([*MIXED, *' .。!?\n"”)…3aDr王', "e.g.", "3.", " 12.", "\n 7."]), max_size=8).map("".join),
    st.lists(st.integers(0, 400), max_size=6),
)
def test_any_cuts_change_no_end(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    assert ends(*(text[a:b] for a, b in pairwise(places))) == ends(text)


def test_signs_that_always_end_do_so_at_once() -> None:
    sentences = Sentences()
    assert sentences.feed("我住在北京。") == [6]
    assert not sentences.undecided
    assert sentences.feed("”你呢") == []


def test_a_full_stop_waits_for_what_follows() -> None:
    sentences = Sentences()
    assert sentences.feed("It is 3.") == []
    assert sentences.undecided
    assert sentences.feed("14 now.") == []
    assert sentences.feed(" So") == [15]


def test_a_quiet_moment_decides() -> None:
    sentences = Sentences()
    sentences.feed("She left.")
    assert sentences.settle() == [9]
    assert sentences.settle() == []
    assert sentences.feed(" Then") == []


def test_a_quiet_moment_does_not_end_an_abbreviation() -> None:
    sentences = Sentences()
    sentences.feed("Ask Dr.")
    assert not sentences.undecided
    assert sentences.settle() == []


@pytest.mark.parametrize(
    ("before", "new", "context"),
    [
        ("She left. Anna", " moved", "Anna"),
        ("It rained. She left. ", "He stayed", "She left. "),
        ("It rained. She left.", " He stayed", "She left."),
        ("He said “No. Go.” ", "Then", "Go.” "),
        ("天下雨。她走了。", "他留下", "她走了。"),
        ("天下雨。她", "走了", "她"),
        ("", "Anna", ""),
        ("Anna", " moved", "Anna"),
        ("no end in all of these words here at all", " more", "words here at all"),
        ("记" * 50, "忆", "记" * 20),
    ],
)
def test_context_is_the_sentence_under_way_or_the_one_before(before: str, new: str, context: str) -> None:
    assert before[sentence_before(before + new, len(before), 20) :] == context
