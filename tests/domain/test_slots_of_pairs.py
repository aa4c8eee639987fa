"""Which of two things somebody would rather have is one question, whichever way it is put."""

from __future__ import annotations

import pytest

from memsidecar.domain.memory import Memory, Preference
from memsidecar.domain.scope import Scope
from memsidecar.domain.slots import Slot, same_slot, single_valued, slot_of


def slot(value: str) -> Slot:
    found = slot_of(Memory("m", Scope("acme", "ann"), Preference(value, topic=value, value=value, polarity=0.8), 0, 0))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tea over coffee", "coffee over tea"),
        ("dark mode to light mode", "light mode to dark mode"),
        ("茶而不是咖啡", "咖啡而不是茶"),
    ],
)
def test_two_ways_round_are_one_slot_with_one_value(one: str, other: str) -> None:
    assert same_slot(slot(one), slot(other)) == 1.0
    assert slot(one).value != slot(other).value
    assert single_valued(slot(one))


def test_another_pair_is_another_slot() -> None:
    assert same_slot(slot("tea over coffee"), slot("tea over water")) == 0.0
    assert not single_valued(slot("tea"))
