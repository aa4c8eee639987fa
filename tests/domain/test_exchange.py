from __future__ import annotations

import pytest

from memsidecar.domain.exchange import asks_the_same, prompt_of, transcript
from memsidecar.domain.session import Role
from memsidecar.domain.tokens import query_tokens


def test_the_prompt_of_an_exchange_is_read_from_its_text() -> None:
    text = transcript([(Role.USER, "Where is it?\nI need it."), (Role.ASSISTANT, "There.")])
    assert text == "User: Where is it?\nI need it.\nAssistant: There."
    assert prompt_of(text) == "Where is it?\nI need it."


@pytest.mark.parametrize(
    "text", ["", "Where is it?", "User: Where is it?", "Ann: Hi\nAssistant: Hi", "A\nAssistant: B"]
)
def test_another_text_has_no_prompt(text: str) -> None:
    assert prompt_of(text) is None


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("Where does Ana live?", "Where does Ana live?", True),
        ("Where does Ana live these days?", "where does ana live", True),
        ("Tell me where Ana lives.", "Where does Ana live?", True),
        ("I am tired. Where does Ana live?", "Where does Ana live?", True),
        ("我住在哪里？", "我住在哪里", True),
        ("So, where's Ana's house?", "Where is the house of Ana?", True),
        ("Ana has moved. Where does Ana live?", "Where does Ana live?", False),
        ("I have never written a route, can you help?", "Have I ever written a route?", False),
        ("Ana lives in Porto.", "Where does Ana live?", False),
        ("Ana is vegan.", "Is Ana vegan?", False),
        ("What does Ana eat?", "Where does Ana live?", False),
        ("Where does Ana live?", "Ana lives in Madrid, in the old town.", False),
        ("Who am I?", "Where does Ana live?", False),
        ("", "Where does Ana live?", False),
    ],
)
def test_the_same_question_is_known_again_by_its_words(before: str, now: str, same: bool) -> None:
    assert asks_the_same(before, query_tokens(now)) is same


def test_of_a_long_prompt_both_ends_are_read() -> None:
    page = "We had a lot of rain. " * 1_000
    assert asks_the_same(f"Where does Ana live? {page}", query_tokens("Where does Ana live?"))
    assert asks_the_same(f"{page} Where does Ana live?", query_tokens("Where does Ana live?"))
