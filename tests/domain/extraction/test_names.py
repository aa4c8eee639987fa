"""What somebody is called, beside his name, and a name that changes."""

from __future__ import annotations

import pytest

from memsidecar.domain.claims import Manner
from memsidecar.domain.extraction.extract import extract


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Call me Annie.", "Annie"),
        ("Please call me Dr. Smith from now on.", "Dr. Smith"),
        ("I go by Max.", "Max"),
        ("People call me Al.", "Al"),
        ("My nickname is Bee.", "Bee"),
        ("I'd rather not. Everyone calls me Kim.", "Kim"),
        ("叫我小王。", "小王"),
        ("你可以叫我豆豆就行。", "豆豆"),
        ("大家都叫我磊哥。", "磊哥"),
        ("叫我Tom就好。", "Tom"),
        ("我的小名叫团团。", "团团"),
    ],
)
def test_what_somebody_is_called_is_not_his_name(text: str, value: str) -> None:
    assert [(claim.attribute, claim.value) for claim in extract(text)] == [("preferred_name", value)]


@pytest.mark.parametrize(
    ("text", "value"),
    [("I changed my name to Beth.", "Beth"), ("我改名叫王磊了。", "王磊"), ("我把名字改成李雷了。", "李雷")],
)
def test_a_name_that_changes_is_another_name(text: str, value: str) -> None:
    assert [(c.attribute, c.value, c.manner) for c in extract(text)] == [("name", value, Manner.CHANGED)]


@pytest.mark.parametrize(
    "text",
    [
        "Call me tomorrow.",
        "I go by bike.",
        "叫我起床。",
        "请叫我小心点。",
        "妈妈叫我别走。",
        "他叫我小王。",
        "别叫我小王。",
        "我改主意了。",
        "我改签了。",
    ],
)
def test_what_only_sounds_like_a_name_is_none(text: str) -> None:
    assert extract(text) == ()
