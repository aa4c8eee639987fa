from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.revision import page_token, parse_page_token, parse_revision, revision_token
from memsidecar.domain.scope import Partition

HERE = Partition("n", "u")


@given(st.integers(0, 2**64 - 1))
def test_tokens_give_back_their_number(number: int) -> None:
    assert parse_revision(revision_token(HERE, number), HERE) == (number, 0)
    assert parse_revision(revision_token(HERE, 7, number // 2 + 1), HERE) == (7, number // 2 + 1)
    assert parse_page_token(page_token(b"q", number), b"q") == number


@pytest.mark.parametrize("other", [Partition("n"), Partition("n", "v"), Partition("nu")])
def test_a_token_of_another_partition_is_none(other: Partition) -> None:
    assert parse_revision(revision_token(other, 7), HERE) is None
    assert parse_revision(revision_token(other, 7, 5), HERE) is None


def test_tokens_are_bound_to_what_they_are_for() -> None:
    assert parse_page_token(page_token(b"a", 7), b"b") is None
    assert parse_page_token(revision_token(HERE, 7), HERE.name.encode()) is None
    assert parse_revision(page_token(HERE.name.encode(), 7), HERE) is None


def test_a_token_of_an_early_release_is_of_no_history() -> None:
    assert parse_revision("Ac_fcn39M6fkAAAAAAAAAAc", HERE) == (7, 0)
    assert revision_token(HERE, 7) == "Ac_fcn39M6fkAAAAAAAAAAc"


@given(st.text() | st.text(st.sampled_from("AQab-_=+/ \n\ud800é"), max_size=30))
def test_garbage_is_none(token: str) -> None:
    assert parse_revision(token, HERE) is None
    assert parse_page_token(token, b"") is None


@given(st.integers(0, 22), st.sampled_from("Aa9-_=é"))
def test_a_damaged_token_is_none_or_means_the_same_binding(at: int, character: str) -> None:
    token = revision_token(HERE, 7)
    damaged = token[:at] + character + token[at + 1 :]
    assert parse_revision(damaged, Partition("other")) is None
    assert parse_revision(token[:at], HERE) is None
