"""Who leads what: read of others, because it changes, and never of what is asked, supposed or quoted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.attributes import attribute_of
from memsidecar.domain.claims import Manner
from memsidecar.domain.extraction.offices import OFFICES, offices


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Alice is CEO of Acme.", [("Acme", "ceo", "Alice", Manner.STATED)]),
        ("Good news! Bob is now the CEO of Acme.", [("Acme", "ceo", "Bob", Manner.CHANGED)]),
        ("Carol Smith was appointed president of Chile", [("Chile", "president", "Carol Smith", Manner.CHANGED)]),
        ("李明是华星的董事长。", [("华星", "chair", "李明", Manner.STATED)]),
        ("王芳出任华星董事长。", [("华星", "chair", "王芳", Manner.CHANGED)]),
    ],
)
def test_who_leads_is_read(text: str, claims: list[tuple[str, str, str, Manner]]) -> None:
    found = list(offices(text))
    assert [(c.subject, c.attribute, c.value, c.manner) for c in found] == claims
    assert all(text[c.span.start : c.span.end].startswith(c.value) for c in found)


@pytest.mark.parametrize(
    "text",
    [
        "Is Bob the CEO of Acme?",
        "Bob is the CEO of Acme?",
        "If Bob is CEO of Acme, I quit.",
        "He is the CEO of Acme.",
        '"Dan is CEO of Acme", she joked.',
        "Bob is a director of Acme.",
        "我是华星的董事长",
        "听说李明是华星的董事长",
    ],
)
def test_what_is_asked_supposed_or_quoted_is_not(text: str) -> None:
    assert list(offices(text)) == []


def test_every_office_is_an_attribute_of_one_holder() -> None:
    for office in OFFICES:
        known = attribute_of(office)
        assert known is not None
        assert known.holds("").name == "SINGLE"


@given(st.text(alphabet="CEO ofABab是的董事长。.,\n", max_size=200))
def test_any_text_gives_spans_inside_it(text: str) -> None:
    assert all(0 <= c.span.start < c.span.end <= len(text) for c in offices(text))
