"""What was so in a time that is over is history, not a denial; a time belongs to what it is said of."""

from __future__ import annotations

import pytest

from memsidecar.domain.claims import TimeRole
from memsidecar.domain.claims_read import claims_read
from memsidecar.domain.extraction.extract import extract


@pytest.mark.parametrize(
    ("text", "attribute", "value", "negated", "time", "role"),
    [
        ("I lived in Paris in 2019.", "lives_in", "Paris", False, "2019", TimeRole.AT),
        ("I lived in Oslo until 2020.", "lives_in", "Oslo", False, "2020", TimeRole.UNTIL),
        ("I worked at Acme last year.", "employer", "Acme", False, "last year", TimeRole.AT),
        ("I have lived in Rome since 2020.", "lives_in", "Rome", False, "2020", TimeRole.FROM),
        ("My sister has lived in Rome since 2020.", "lives_in", "Rome", False, "2020", TimeRole.FROM),
        ("I used to live in Rome.", "lives_in", "Rome", True, "", TimeRole.AT),
        ("I worked at Acme from 2015 to 2018.", "employer", "Acme", True, "", TimeRole.AT),
        ("I lived in Rome from 2015 to 2018.", "lives_in", "Rome", True, "", TimeRole.AT),
    ],
)
def test_the_past_with_its_time_denies_nothing(
    text: str, attribute: str, value: str, negated: bool, time: str, role: TimeRole
) -> None:
    (claim,) = extract(text)
    assert (claim.attribute, claim.value, claim.negated) == (attribute, value, negated)
    assert (text[claim.time.start : claim.time.end] if claim.time else "", claim.time_role) == (time, role)


def test_the_year_in_which_somebody_has_his_age_ends_nothing_else() -> None:
    claims = extract("我叫李明，今年三十岁，住在北京，在字节跳动工作")
    assert [claim.attribute for claim in claims] == ["name", "age", "lives_in", "employer"]
    assert all(claim.time is None for claim in claims)
    (home,) = extract("我今年住在北京")
    assert home.time is not None


@pytest.mark.parametrize(
    "text",
    [
        "Tom told me: I quit my job at Acme.",
        "Anna said I live in a dump.",
        "You: I live in Oslo.",
        "My colleague: I live in Oslo.",
        "My brother Jim: I work at Acme.",
        "Here is my friend's bio: I live in Paris and I have a dog.",
        "Can you fix this email: Hi Bob, I like tea and I hate coffee.",
        "I play a character who works at Wayne Enterprises.",
    ],
)
def test_what_is_somebody_elses_word_is_not_the_users(text: str) -> None:
    assert not extract(text)


def test_a_text_to_be_written_states_nothing_at_all() -> None:
    assert not claims_read("写一篇作文，开头是：我叫小明，我今年十岁，我有三只猫")
    assert not claims_read("Write a story: I have 12 cats now, and my budget is $500.")


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("I live in a small flat.", "dwelling", "small flat"),
        ("We moved to a house.", "dwelling", "house"),
        ("We just moved to a small town near Bath.", "lives_in", "small town near Bath"),
        ("i live in rome", "lives_in", "rome"),
        ("I live in Apartment City.", "lives_in", "Apartment City"),
    ],
)
def test_the_kind_of_house_is_no_other_town(text: str, attribute: str, value: str) -> None:
    (claim,) = extract(text)
    assert (claim.attribute, claim.value) == (attribute, value)
