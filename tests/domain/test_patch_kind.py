from __future__ import annotations

import pytest

from memsidecar.domain.decide import update
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Patch, Request
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.memory import Kind, Memory, Preference
from memsidecar.domain.scope import Partition, Scope
from tests.doubles.naive_partition import NaivePartition


def decision() -> Decision:
    """Over a partition that holds one preference."""
    partition = NaivePartition()
    partition.memories["m"] = Memory("m", Scope("n"), Preference("likes tea"), 1, 1)
    return Decision.on(partition, Partition("n"), 2, lambda: "new", Request())


def test_patch_for_another_kind_is_refused() -> None:
    patch = Patch({"statement": "x", "predicate": "y"}, kind=Kind.FACT)
    with pytest.raises(InvalidField) as caught:
        update(decision(), "m", patch, None)
    assert caught.value.violations == (("memory.fact", "the memory is of the kind preference, which never changes"),)


def test_patch_of_its_own_kind_changes_it() -> None:
    assert update(decision(), "m", Patch({"statement": "x"}, kind=Kind.PREFERENCE), None).text == "x"
