"""What a write was answered is given again as it was, without what has been purged since."""

from __future__ import annotations

from pathlib import Path

import pytest

from memsidecar.domain.conflict import Conflict, Rule
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action, Declined, Outcome, Request
from memsidecar.domain.errors import ConflictRejected, InvalidField
from memsidecar.domain.events import Change, ConflictRecorded, MemoryRecorded
from memsidecar.domain.memory import Fact, Memory
from memsidecar.services.recorded import Result
from tests.services.stack import ANN, Stack

ONCE = Request("6f7c3a52-6a5e-4b52-9d0b-0c9a1f6e2b11", b"d")


@pytest.fixture
async def stack(tmp_path: Path):  # type: ignore[no-untyped-def]
    opened = await Stack.open(tmp_path, None)
    yield opened
    await opened.close()


def remembered(decision: Decision, text: str, memory_id: str) -> Memory:
    memory = Memory(memory_id, ANN, Fact(text), decision.now, decision.now)
    decision.record(MemoryRecorded(Change.CREATED, memory))
    return memory


def command(decision: Decision) -> list[Result]:
    first, second = remembered(decision, "one", "m1"), remembered(decision, "two", "m2")
    conflict = Conflict("c1", "", "lives_in", Rule.VALUE, ("m1", "m2"), decision.now, decision.now)
    decision.record(ConflictRecorded(conflict))
    read = Outcome(Action.SUPERSEDED, second, "read", superseded=("m1",), conflicts=("c1",))
    return [
        Outcome(Action.CREATED, first, "new", True, extracted=(read, Declined("words of the user", "small talk"))),
        conflict,
        7,
        InvalidField("items[3].text", "is required"),
        ConflictRejected(["namespaces/acme/memories/a", "namespaces/acme/memories/b"]),
        None,
    ]


async def test_an_answer_is_given_again_as_it_was(stack: Stack) -> None:
    first = await stack.residency.write(ANN.partition, command, ONCE)
    again = await stack.residency.write(ANN.partition, command, ONCE)
    assert again.revision == first.revision
    outcome, conflict, count, wrong, rejected, gone = again.results
    original = first.results[0]
    assert isinstance(outcome, Outcome)
    assert isinstance(original, Outcome)
    assert (outcome.action, outcome.memory, outcome.explanation) == (Action.CREATED, original.memory, "new")
    assert outcome.embedding_pending
    assert outcome.extracted[0] == original.extracted[0]
    # The words that were not stored are nowhere.
    assert outcome.extracted[1] == Declined("", "small talk")
    assert (conflict, count, gone) == (first.results[1], 7, None)
    assert isinstance(wrong, InvalidField)
    assert wrong.violations == (("items[3].text", "is required"),)
    assert isinstance(rejected, ConflictRejected)
    assert rejected.metadata["memories"] == "namespaces/acme/memories/a,namespaces/acme/memories/b"


async def test_what_is_purged_since_is_not_in_it(stack: Stack) -> None:
    await stack.residency.write(ANN.partition, command, ONCE)
    await stack.memories.delete(ANN.partition, "m2", "", True, "", Request())
    outcome, *_ = (await stack.residency.write(ANN.partition, command, ONCE)).results
    assert isinstance(outcome, Outcome)
    assert outcome.extracted == (Declined("", "small talk"),)
    await stack.memories.delete(ANN.partition, "m1", "", True, "", Request())
    assert (await stack.residency.write(ANN.partition, command, ONCE)).results[0] is None
