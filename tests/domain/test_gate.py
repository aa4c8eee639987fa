from __future__ import annotations

import pytest

from memsidecar.domain.claims import Claim, Span
from memsidecar.domain.gate import Gate, sensitivity
from memsidecar.domain.memory import Kind


def claim(statement: str, attribute: str = "about", value: str = "", entity_type: str = "") -> Claim:
    return Claim(Kind.FACT, attribute, value or statement, statement, Span(0, 1), entity_type=entity_type)


@pytest.mark.parametrize(
    ("statement", "about"),
    [
        ("I was diagnosed with diabetes", "health"),
        ("I'm pregnant", "health"),
        ("我确诊了糖尿病", "health"),
        ("I am a Muslim", "religion"),
        ("我是佛教徒", "religion"),
        ("I voted for the greens", "politics"),
        ("I'm gay", "sexuality"),
        ("My password is hunter2", "secrets"),
        ("My card is 4111 1111 1111 1111", "secrets"),
        ("My SSN is 078-05-1120", "secrets"),
        ("我的密码是abc", "secrets"),
        ("The hospital still owes me a diagnosis", "health"),
        ("My password manager has the password hunter2", "secrets"),
        ("I use the debugger for error diagnosis", ""),
        ("I estimated 12 hours for password hashing", ""),
        ("I'm allergic to peanuts", ""),
        ("I'm vegan", ""),
        ("I live in Oslo", ""),
        ("I have 12 commits", ""),
        ("My phone number is +47 912 34 567", ""),
    ],
)
def test_what_is_sensitive(statement: str, about: str) -> None:
    assert sensitivity(claim(statement)) == about


def test_a_name_is_not_a_belief() -> None:
    assert sensitivity(claim("My brother is Christian", "brother", "Christian", "person")) == ""


def test_the_attribute_of_health_is_sensitive_in_any_words() -> None:
    assert sensitivity(claim("I have lupus", "health", "lupus")) == "health"


@pytest.mark.parametrize(("importance", "passes"), [(0.59, False), (0.6, True), (1.0, True)])
def test_importance_opens_the_gate(importance: float, passes: bool) -> None:
    assert (Gate().refusal(claim("I live in Oslo"), importance) == "") is passes


def test_the_reason_repeats_nothing_of_the_text() -> None:
    reason = Gate().refusal(claim("I was diagnosed with diabetes"), 1.0)
    assert "diabetes" not in reason
    assert Gate(sensitive=True).refusal(claim("I was diagnosed with diabetes"), 1.0) == ""
