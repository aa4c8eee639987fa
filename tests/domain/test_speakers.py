from __future__ import annotations

import time

import pytest

from memsidecar.domain.scope import Scope
from memsidecar.domain.speakers import heard_as, own_parts

ANN = Scope("acme", "ann", "helper")


@pytest.mark.parametrize(
    ("speaker", "heard"),
    [
        ("", ""),
        ("user", ""),
        ("USER", ""),
        ("Ann", ""),
        ("用户", ""),
        ("Melanie", "Melanie"),
        (" Melanie  Berg ", "Melanie Berg"),
        ("assistant", None),
        ("Assistant (fast)", None),
        ("assistant_2", None),
        ("tool:search", None),
        ("system", None),
        ("developer", None),
        ("Helper", None),
        ("助手", None),
        ("机器人", None),
    ],
)
def test_who_is_heard(speaker: str, heard: str | None) -> None:
    assert heard_as(speaker, ANN) == heard


@pytest.mark.parametrize("speaker", ["", "user", "human"])
def test_an_unnamed_speaker_among_many_is_nobody(speaker: str) -> None:
    assert heard_as(speaker, Scope("acme")) is None


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("I live in Oslo.", ["I live in Oslo."]),
        ("Note: I live in Oslo.", ["Note: I live in Oslo."]),
        ("User: one\nAssistant: two\nUser: three", [" one\n", " three"]),
        ("**User**: one\n**Assistant**: two", [" one\n"]),
        ("> Human: one\n> AI: two", [" one\n> "]),
        ("before\nAssistant: two", ["before\n"]),
        ("assistant: I live\nin Rome", []),
        ("User: Note: one\nMore: two\nAssistant: three", [" Note: one\nMore: two\n"]),
        ("Ann: one\nBen: two", []),
        ("me: one\nTom: I live in Rome\nUser: two", [" one\n", " two"]),
        ("me: one\nTom: I live in Rome", [" one\n"]),
        ("用户：一\n小红：我住在北京\n助手：二", ["一\n"]),
        ("Ann: one\nAnn: two", ["Ann: one\nAnn: two"]),
        ("用户：一\n助手：二", ["一\n"]),
        ("", []),
    ],
)
def test_what_of_a_text_its_author_says(text: str, own: list[str]) -> None:
    assert [text[part.start : part.end].removesuffix("> ") for part in own_parts(text)] == [
        part.removesuffix("> ") for part in own
    ]


@pytest.mark.parametrize("text", ["a:" * 250_000, "User" * 120_000, " \t" * 250_000, "*" * 500_000, "A\n" * 250_000])
def test_no_text_takes_long(text: str) -> None:
    began = time.thread_time()
    own_parts(text)
    assert time.thread_time() - began < 1.0
