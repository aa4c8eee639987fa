from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.diversity import enough, fold, fold_key, fold_number, vary
from memsidecar.domain.memory import Body, Episode, Fact, Memory, Outcome, Preference, Procedure
from memsidecar.domain.scope import Scope

DAY = 24 * 3600 * 1_000_000
_count = iter(range(10**9))


def memory(body: Body) -> Memory:
    return Memory(f"m{next(_count)}", Scope("n", "u"), body, created_at=0, updated_at=0)


def lasting(text: str, since: int) -> Memory:
    return replace(memory(Fact(text)), valid_from=since)


def said(text: str, speaker: str = "Mei", day: int = 0) -> Memory:
    return memory(Episode(text, speaker=speaker, start_time=day * DAY))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I'm allergic to peanuts.", "I'm allergic to peanuts!!"),
        ("I'm allergic to peanuts.", "Oh, I'm allergic to PEANUTS"),
        ("我对花生过敏。", "我对花生过敏！"),
        ("ﾊﾟｿｺﾝを買った", "パソコンを買った。"),
        ("나는 땅콩 알레르기가 있어.", "나는 땅콩 알레르기가 있어"),
        ("Yes, I eat meat - and fish", "I eat meat, and fish"),
        ("I **love** `tea` (green)", "I love tea: green"),
        ("It is −5 degrees", "It is -5 degrees"),
        ("我喜欢茶～", "我喜欢茶。"),
    ],
)
def test_what_differs_in_writing_only_is_folded(one: str, other: str) -> None:
    assert fold_key(said(one, day=1)) == fold_key(said(other, day=9))
    assert fold_number(said(one, day=1)) == fold_number(said(other, day=9))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (said("My 5k time is 24:10."), said("My 5k time is 24:50.")),
        (said("It costs 3.5 euros"), said("It costs 35 euros")),
        (said("It costs 3.5 euros"), said("It costs 3,5 euros and 3 5")),
        (said("I like coffee"), said("I don't like coffee")),
        (said("我喜欢咖啡"), said("我不喜欢咖啡")),
        (said("Alice met Bob"), said("Bob met Alice")),
        (said("I'm allergic to peanuts", "Mei"), said("I'm allergic to peanuts", "Tom")),
        (said("I ran 5 km today", day=1), said("I ran 5 km today", day=2)),
        (said("今天跑了五公里", day=1), said("今天跑了五公里", day=2)),
        (memory(Fact("lives in Rome", subject="a")), memory(Fact("lives in Rome", subject="b"))),
        (memory(Preference("sushi", polarity=1)), memory(Preference("sushi", polarity=-1))),
        (memory(Fact("I like tea")), said("I like tea")),
        (memory(Fact("moved", object_text="Rome")), memory(Fact("moved", object_text="Porto"))),
        (memory(Preference("milk", value="oat")), memory(Preference("milk", value="soy"))),
        (memory(Procedure("deploy", steps=("build",))), memory(Procedure("deploy", steps=("test", "build")))),
        (memory(Episode("deployed", outcome=Outcome.SUCCESS)), memory(Episode("deployed", outcome=Outcome.FAILURE))),
        (memory(Episode("deployed", lessons=("wait",))), memory(Episode("deployed"))),
        (lasting("lives in Rome", 0), memory(Fact("lives in Rome"))),
        (said("🙂"), said("🙃")),
        *(
            (said(one), said(other))
            for one, other in [
                ("I code in C++", "I code in C#"),
                ("I code in C++", "I code in C"),
                ("It is -5 degrees", "It is 5 degrees"),
                ("It is +3", "It is −3"),
                ("Lunch is $12", "Lunch is €12"),
                ("The discount is 50%", "The discount is 50"),
                ("She got an A+", "She got an A-"),
                ("She got an A", "She got an A*"),
                ("我的血型是A+", "我的血型是A-"),
                ("write to a.b@x.com", "write to a_b@x.com"),
                ("My mood is 😀", "My mood is 😡"),
                ("We are team 🇨🇳", "We are team 🇯🇵"),
                ("👍🏻", "👍🏿"),
                ("👍🏻 for tea", "👍🏿 for tea"),
                ("A < B", "A > B"),
                ("f(x)=x+1", "f(x)=x-1"),
                ("I feel ok", "I feel well"),
                ("Mei likes coffee", "Mei likes coffee?"),
                ("美喜欢咖啡", "美喜欢咖啡？"),
                ("there are 10³ cells", "there are 103 cells"),
                ("2*3 of them", "2+3 of them"),
            ]
        ),
    ],
)
def test_a_distinct_fact_is_never_folded(one: Memory, other: Memory) -> None:
    assert fold_key(one) != fold_key(other)
    assert fold_number(one) != fold_number(other)


def test_a_fold_stands_where_its_best_does() -> None:
    ranked = [said("tea"), said("milk"), said("Tea!"), said("tea.", "Tom"), said("milk")]
    assert fold([fold_number(memory) for memory in ranked]) == [[0, 2], [1, 4], [3]]


def test_variety_prefers_what_has_not_been_said() -> None:
    scores = np.array([1.0, 0.95, 0.6], dtype=np.float32)
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    assert vary(scores, vectors, 2, 0.0).tolist() == [0, 1]
    assert vary(scores, vectors, 2, 0.5).tolist() == [0, 2]


def test_a_memory_without_a_vector_is_like_no_other() -> None:
    scores = np.array([1.0, 0.9, 0.8], dtype=np.float32)
    vectors = np.array([[1, 0], [0.9, 0.43589], [0, 0]], dtype=np.float32)
    assert vary(scores, vectors, 2, 0.5).tolist() == [0, 2]


@given(st.lists(st.floats(0, 1, width=32), max_size=12), st.integers(0, 15), st.floats(0, 1))
def test_variety_names_each_candidate_once_and_begins_with_the_best(
    values: list[float], count: int, diversity: float
) -> None:
    scores = np.array(sorted(values, reverse=True), dtype=np.float32)
    vectors = np.eye(12, dtype=np.float32)[: len(scores)]
    chosen = vary(scores, vectors, count, diversity).tolist()
    assert len(chosen) == len(set(chosen)) == min(count, len(values))
    assert not chosen or chosen[0] == 0


def test_a_narrow_question_gets_fewer_hits_than_an_open_one() -> None:
    scores = [0.9, 0.85, 0.5, 0.3, 0.1]
    assert enough(scores, 0.0, 10) == 2
    assert enough(scores, 1.0, 10) == 4
    assert enough(scores, 1.0, 3) == 3
    assert enough([], 1.0, 3) == 0
    assert enough([0.0, 0.0], 0.0, 10) == 2
