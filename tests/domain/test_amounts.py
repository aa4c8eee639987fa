from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.amounts import Amount, amount_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,200", "1200 calls"),
        ("0.25 s", "250ms"),
        ("78%", "78 percent"),
        ("1.2k", "1200"),
        ("2 hours", "120 minutes"),
        ("$1,500", "1500 dollars"),
        ("March 3", "3 March"),
        ("March 3, 2024", "3月3日"),
        ("3 PM", "15:00"),
        ("three", "3"),
        ("五次", "5"),
        ("十二个", "12"),
        ("1.5GB", "1500 MB"),
        ("5公里", "5 km"),
    ],
)
def test_two_ways_of_writing_one_amount_are_equal(one: str, other: str) -> None:
    first, second = amount_of(one), amount_of(other)
    assert first is not None
    assert second is not None
    assert first.equals(second)


@pytest.mark.parametrize(("one", "other"), [("5 km", "5 kg"), ("78%", "78"), ("8/10", "8"), ("$5", "€5")])
def test_amounts_of_other_dimensions_are_not(one: str, other: str) -> None:
    first, second = amount_of(one), amount_of(other)
    assert first is not None
    assert second is not None
    assert not first.equals(second)


@pytest.mark.parametrize("text", ["", "blue", "Oslo", "a lot", "不知道", "x" * 1_000])
def test_what_states_no_amount_gives_none(text: str) -> None:
    assert amount_of(text) is None


def test_a_part_keeps_its_whole() -> None:
    assert amount_of("8 out of 10") == Amount("count", 8, 10)


@given(st.text(max_size=120))
def test_any_text_gives_an_amount_or_none(text: str) -> None:
    assert amount_of(text) == amount_of(text)
