"""A write looks at those memories of its slot that can matter to it; that is as if it had looked at all of them."""

from __future__ import annotations

from hypothesis import given, settings

from memsidecar.domain.slot_places import Sought
from tests.doubles.histories import SLOTTED, Command, decided, new_ids
from tests.doubles.naive_partition import NaivePartition
from tests.services.resident.test_histories import check, lived


class Whole(NaivePartition):
    """Answers with the whole family whatever is sought in it."""

    def in_slot(self, subject: str, family: str, sought: Sought | None = None) -> list[str]:
        return super().in_slot(subject, family)


@settings(max_examples=200, deadline=None)
@given(SLOTTED)
def test_what_can_matter_decides_what_everything_decides(history: list[Command]) -> None:
    narrow, whole = NaivePartition(), Whole()
    ids, whole_ids = new_ids(), new_ids()
    for now, command in enumerate(history):
        for event in decided(narrow, command, now, ids).events:
            narrow.apply(event)
        for event in decided(whole, command, now, whole_ids).events:
            whole.apply(event)
        assert narrow.memories == whole.memories
        assert narrow.conflicts == whole.conflicts


@settings(max_examples=100, deadline=None)
@given(SLOTTED)
def test_a_resident_finds_what_is_sought(history: list[Command]) -> None:
    resident, naive, _ = lived(history)
    check(resident, naive)
