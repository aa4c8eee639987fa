"""What every Tokenizer promises."""

from __future__ import annotations

import sys

import pytest

from memsidecar.adapters.quicktok_tokenizer import QuicktokTokenizer
from memsidecar.domain.errors import TokenizerUnknown
from memsidecar.ports.models import Tokenizer

TEXTS = [
    "",
    "a",
    "Hello, world!",
    "上个月搬到了成都高新区。",
    "<|endoftext|>",
    "<|im_start|>user",
    "a\0b",
    "a\ud800b",
    "👩‍👩‍👧",
]


@pytest.fixture(params=["quicktok", "no wheel"])
def tokenizer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    if request.param == "no wheel":
        monkeypatch.setitem(sys.modules, "quicktok", None)
    return QuicktokTokenizer()


def test_the_fallback_is_the_first_name(tokenizer: Tokenizer) -> None:
    assert tokenizer.resolve("") == tokenizer.names[0]


def test_every_name_resolves_to_itself(tokenizer: Tokenizer) -> None:
    assert [tokenizer.resolve(name) for name in tokenizer.names] == list(tokenizer.names)


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_every_text_has_a_count_in_every_encoding(tokenizer: Tokenizer, text: str) -> None:
    for name in tokenizer.names:
        assert tokenizer.count(text, name) >= bool(text)


def test_no_text_is_no_tokens(tokenizer: Tokenizer) -> None:
    assert {tokenizer.count("", name) for name in tokenizer.names} == {0}


def test_more_text_has_more_tokens(tokenizer: Tokenizer) -> None:
    assert tokenizer.count("a word and another one") > tokenizer.count("a word")


def test_without_an_encoding_the_fallback_counts(tokenizer: Tokenizer) -> None:
    assert tokenizer.count("a word and another one") == tokenizer.count("a word and another one", tokenizer.names[0])


@pytest.mark.parametrize("model", ["claude-sonnet-4", "mistral-large-latest", "deepseek/chat", "phi3:mini"])
def test_an_unknown_model_gets_the_fallback(tokenizer: Tokenizer, model: str) -> None:
    assert tokenizer.resolve(model) == tokenizer.names[0]


@pytest.mark.parametrize("name", ["cl200k", "p50k_base", "o200k_bass", "-", "two words-here", "x" * 300 + "-"])
def test_a_name_that_is_no_model_is_unknown(tokenizer: Tokenizer, name: str) -> None:
    with pytest.raises(TokenizerUnknown) as raised:
        tokenizer.resolve(name)
    assert tokenizer.names[0] in str(raised.value)
    with pytest.raises(TokenizerUnknown):
        tokenizer.count("text", name)
