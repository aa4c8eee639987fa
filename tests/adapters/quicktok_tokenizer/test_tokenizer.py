"""Counts, and which model counts like which."""

from __future__ import annotations

import sys

import pytest

from memsidecar.adapters.quicktok_tokenizer import QuicktokTokenizer
from memsidecar.domain.errors import TokenizerUnknown


@pytest.fixture(scope="module")
def tokenizer() -> QuicktokTokenizer:
    made = QuicktokTokenizer()
    made.load("cl100k")
    return made


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("", "o200k"),
        ("o200k_base", "o200k"),
        ("O200K-base", "o200k"),
        ("cl100k_base", "cl100k"),
        ("gpt-4o", "o200k"),
        ("gpt-4o-mini-2024-07-18", "o200k"),
        ("openai/gpt-4.1-nano", "o200k"),
        ("gpt-5", "o200k"),
        ("gpt-5.1-codex", "o200k"),
        ("gpt-oss-20b", "o200k"),
        ("chatgpt-4o-latest", "o200k"),
        ("ft:gpt-4o-mini:acme::abc", "o200k"),
        ("o1", "o200k"),
        ("o3-mini", "o200k"),
        ("o4-mini", "o200k"),
        ("gpt-4", "cl100k"),
        ("gpt-4-turbo", "cl100k"),
        ("gpt-35-turbo", "cl100k"),
        ("gpt-3.5-turbo-16k", "cl100k"),
        ("text-embedding-3-small", "cl100k"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3"),
        ("llama3:8b", "llama3"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen3"),
        ("qwen3", "qwen3"),
        ("claude-opus-4-1", "o200k"),
        ("estimate", "estimate"),
    ],
)
def test_resolve(tokenizer: QuicktokTokenizer, name: str, encoding: str) -> None:
    assert tokenizer.resolve(name) == encoding


def test_counts_are_those_of_the_vocabulary(tokenizer: QuicktokTokenizer) -> None:
    # From tiktoken: encode_ordinary of the same strings.
    assert tokenizer.count("hello world") == 2
    assert tokenizer.count("中文 token", "o200k") == 2
    assert tokenizer.count("中文 token", "gpt-4") == 3


def test_special_tokens_in_a_text_are_letters(tokenizer: QuicktokTokenizer) -> None:
    assert tokenizer.count("<|endoftext|>") > 1


def test_the_estimate_is_near_the_count_of_longer_text(tokenizer: QuicktokTokenizer) -> None:
    for text in ("She moved to Lisbon in March after ten years in Chicago. " * 5, "上个月搬到了成都高新区。" * 10):
        assert tokenizer.count(text, "estimate") == pytest.approx(tokenizer.count(text), rel=0.35)


def test_the_fallback_can_be_chosen() -> None:
    tokenizer = QuicktokTokenizer(fallback="gpt-4")
    assert tokenizer.names[0] == "cl100k"
    assert tokenizer.resolve("mistral-large") == "cl100k"


def test_a_misspelt_fallback_is_refused() -> None:
    with pytest.raises(TokenizerUnknown, match="o200l"):
        QuicktokTokenizer(fallback="o200l")


def test_without_the_package_every_known_name_is_an_estimate(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "quicktok", None)
    tokenizer = QuicktokTokenizer()
    assert tokenizer.names == ("estimate",)
    assert tokenizer.resolve("gpt-4") == "estimate"
    assert "estimates" in caplog.text
