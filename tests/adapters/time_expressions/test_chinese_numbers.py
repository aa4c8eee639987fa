from __future__ import annotations

import pytest

from memsidecar.adapters.time_expressions.chinese_numbers import number


@pytest.mark.parametrize(
    ("words", "value"),
    [("十", 10), ("十二", 12), ("三十一", 31), ("二〇二四", 2024), ("一百零五", 105), ("一百万", 1_000_000),
     ("十亿", 10**9), ("万", 10_000), ("10万", 100_000), ("12", 12)],
)  # fmt: skip
def test_a_number_is_what_its_words_say(words: str, value: int) -> None:
    assert number(words) == value


@pytest.mark.parametrize("words", ["十七八", "半", "三二百"])
def test_what_is_no_number_is_an_error(words: str) -> None:
    with pytest.raises(ValueError, match=words):
        number(words)
