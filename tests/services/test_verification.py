from __future__ import annotations

import weakref
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memsidecar.adapters.kuzu_graph import KuzuGraph
from memsidecar.domain.conflict import Conflict, ConflictState, Rule
from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.feedback import Feedback
from memsidecar.domain.finding import Finding
from memsidecar.domain.fold import Delta
from memsidecar.domain.memory import Entity, Fact, Preference
from memsidecar.domain.scope import Scope
from memsidecar.ports.graph import GraphChange
from memsidecar.services import hydration
from memsidecar.services.projector import GraphProjector
from memsidecar.services.resident import Resident
from memsidecar.services.verification import Verification
from tests.adapters.sqlite_ledger.conftest import Tamper, tamper
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import ANN, BEN, Stack, said, stored

__all__ = ["tamper"]
WHO = ANN.partition


class Checked:
    """A stack at rest with its graph, a snapshot and a tail after it."""

    def __init__(self, stack: Stack, graph: KuzuGraph) -> None:
        self.stack, self.graph = stack, graph
        self.projector = GraphProjector(graph, stack.real_ledger)

    async def verify(self, repair: bool = False) -> list[Finding]:
        stack = self.stack
        check = Verification(
            stack.real_ledger, stack.codec, self.graph, self.projector, stack.indexes, stack.snapshots, stack.space
        )
        return [finding async for finding in check(repair)]


@pytest.fixture
async def checked(tmp_path: Path, embedder: HashEmbedder) -> AsyncIterator[Checked]:
    stack = await Stack.open(tmp_path, embedder)
    graph = await KuzuGraph.open(tmp_path / "graph", "kuzu", 64 << 20)
    ids = [
        m.id for m in stored(await stack.remember(ANN, said("We saw Marta Silva."), said("And then?"), "tea", "gone"))
    ]
    await stack.remember(BEN, "coffee")
    assert await stack.hydration.save((await stack.residency.get(WHO)).resident)
    await stack.memories.update(WHO, ids[2], Patch({"statement": "green tea"}), Request())
    await stack.memories.delete(WHO, ids[3], "", False, "", Request())
    made = Checked(stack, graph)
    await made.projector.start()
    await made.projector.wait_until_caught_up()
    yield made
    await stack.residency.close()
    await made.projector.close()
    await graph.close()
    await stack.close()


async def repaired(checked: Checked, *expected: tuple[str, str]) -> None:
    """The findings are these (store, words of the problem), and a repair makes the next run clean."""
    found = await checked.verify()
    assert sorted((f.store, f.problem) for f in found) == sorted(expected)
    fixed = await checked.verify(repair=True)
    assert sorted((f.store, f.problem) for f in fixed) == sorted(expected)
    assert all(finding.repaired for finding in fixed)
    assert await checked.verify() == []


async def test_stores_that_agree_have_no_findings(checked: Checked) -> None:
    assert await checked.verify() == []
    assert await checked.verify(repair=True) == []


async def test_no_partitions_no_findings(tmp_path: Path, embedder: HashEmbedder) -> None:
    stack = await Stack.open(tmp_path, embedder)
    graph = await KuzuGraph.open(tmp_path / "graph", "kuzu", 64 << 20)
    empty = Checked(stack, graph)
    await empty.projector.start()
    assert await empty.verify(repair=True) == []
    await empty.projector.close()
    await graph.close()
    await stack.close()


async def _put(checked: Checked, memory_id: str, **changes: object) -> None:
    memory = (await checked.stack.residency.get(WHO)).resident.memory(memory_id)
    assert memory is not None
    position = await checked.graph.applied() + 1
    put = replace(memory, **changes)  # type: ignore[arg-type]
    await checked.graph.apply([GraphChange(position, WHO, Delta(put.id, put=put))])


async def _drop(checked: Checked, memory_id: str) -> None:
    position = await checked.graph.applied() + 1
    await checked.graph.apply([GraphChange(position, WHO, Delta(memory_id, purged=True))])


async def _ids(checked: Checked) -> dict[str, str]:
    resident = (await checked.stack.residency.get(WHO)).resident
    return {resident.records.get(row).text: memory_id for memory_id, row in resident.lookup.rows.items()}


async def test_a_missing_node_is_found(checked: Checked) -> None:
    await _drop(checked, (await _ids(checked))["green tea"])
    await repaired(checked, ("graph", "is missing"))


async def test_a_node_too_many_is_found(checked: Checked) -> None:
    await _put(checked, (await _ids(checked))["green tea"], id="ghost")
    await repaired(checked, ("graph", "is not in the ledger"))


async def test_a_stale_node_is_found(checked: Checked) -> None:
    await _put(checked, (await _ids(checked))["green tea"], version=1)
    await repaired(checked, ("graph", "is not at the ledger's version"))


async def test_a_missing_edge_is_found(checked: Checked) -> None:
    await _put(checked, (await _ids(checked))["We saw Marta Silva."], mentions=())
    await repaired(checked, ("graph", "its edges differ from the ledger's"))


async def _slotted(checked: Checked) -> tuple[str, str, str]:
    """Two memories of one slot and the conflict that one has superseded the other by."""
    first, second = [
        stored(await checked.stack.remember(ANN, Draft(Fact(text, predicate="lives_in", object_text=where))))[0].id
        for text, where in (("my home is up north", "north"), ("my home is down south", "south"))
    ]
    checked.projector.publish(checked.stack.published)
    await checked.projector.wait_until_caught_up()
    resident = (await checked.stack.residency.get(WHO)).resident
    (conflict_id,) = resident.conflicts_of(second)
    assert await checked.verify() == []
    return first, second, conflict_id


async def _judge(checked: Checked, conflict: Conflict) -> None:
    position = await checked.graph.applied() + 1
    await checked.graph.apply([GraphChange(position, WHO, Delta(conflict.id, conflict=conflict))])


async def test_a_stale_conflict_and_its_missing_edge_are_found(checked: Checked) -> None:
    *_, conflict_id = await _slotted(checked)
    conflict = (await checked.stack.residency.get(WHO)).resident.conflict(conflict_id)
    assert conflict is not None
    await _judge(checked, replace(conflict, state=ConflictState.DISMISSED, version=9))
    wrong = ("graph", "the edges that it draws differ from the ledger's")
    await repaired(checked, ("graph", "is not at the ledger's version"), wrong)


async def test_a_conflict_too_many_is_found(checked: Checked) -> None:
    first, second, _ = await _slotted(checked)
    await _judge(checked, Conflict("ghost", "", "lives_in", Rule.VALUE, (first, second), 1, 1))
    wrong = ("graph", "the edges that it draws differ from the ledger's")
    await repaired(checked, ("graph", "is not in the ledger"), wrong)


async def test_a_wrong_tie_is_found(checked: Checked) -> None:
    wish = Preference("tea, please", topic="drinks")
    [memory] = stored(await checked.stack.remember(ANN, Draft(wish)))
    checked.projector.publish(checked.stack.published)
    await checked.projector.wait_until_caught_up()
    assert await checked.verify() == []
    await _put(checked, memory.id, valid_from=5)
    await repaired(checked, ("graph", "the edges that it draws differ from the ledger's"))


async def test_a_snapshots_wrong_conflict_and_slot_are_found(checked: Checked) -> None:
    first, _, conflict_id = await _slotted(checked)

    def alter(resident: Resident) -> None:
        conflict = resident.conflict(conflict_id)
        assert conflict is not None
        resident.conflicts.put(replace(conflict, severity=0.1))
        row = resident.lookup.rows[first]
        resident.lookup.drop(row, resident.records.get(row))
        resident.lookup.put(row, replace(resident.records.get(row), body=Fact("my home is up north")))

    await _resave(checked, alter)
    await repaired(
        checked,
        ("vectors", "in the snapshot is not the ledger's conflict"),
        ("vectors", "its slot in the snapshot differs from the ledger's"),
    )


async def test_an_id_that_is_used_again_has_no_edges_of_the_one_before(checked: Checked) -> None:
    stack = checked.stack
    await stack.memories.create(WHO, Draft(Entity("Otto")), "otto", Request())
    await stack.memories.create(WHO, Draft(Fact("he is tall", subject="otto")), "tall", Request())
    await stack.memories.delete(WHO, "otto", "", True, "", Request())
    stack.clock.time += 1
    await stack.memories.create(WHO, Draft(Entity("Otto")), "otto", Request())
    checked.projector.publish(stack.published)
    await checked.projector.wait_until_caught_up()
    assert await checked.graph.edges(WHO, ["tall"]) == []
    assert await checked.verify() == []


async def _resave(checked: Checked, alter: object) -> None:
    """A snapshot with a valid checksum and wrong content."""
    resident, _ = await checked.stack.hydration(WHO)
    alter(resident)  # type: ignore[operator]
    assert await checked.stack.hydration.save(resident)


async def test_a_snapshots_wrong_record_is_found(checked: Checked) -> None:
    which = (await _ids(checked))["green tea"]

    def alter(resident: Resident) -> None:
        row = resident.lookup.rows[which]
        resident.records.put(row, replace(resident.records.get(row), importance=0.9))

    await _resave(checked, alter)
    await repaired(checked, ("vectors", "its snapshot differs from the ledger's record"))


async def test_a_snapshots_wrong_feedback_is_found(checked: Checked) -> None:
    which = (await _ids(checked))["green tea"]

    def alter(resident: Resident) -> None:
        resident.columns.judge(resident.lookup.rows[which], Feedback(used=9))

    await _resave(checked, alter)
    await repaired(checked, ("vectors", "its feedback in the snapshot differs from the ledger's"))


async def test_a_snapshots_wrong_words_are_found(checked: Checked) -> None:
    which = (await _ids(checked))["green tea"]

    def alter(resident: Resident) -> None:
        row = resident.lookup.rows[which]
        resident.keywords.remove(row, ["green"])

    await _resave(checked, alter)
    found = await checked.verify()
    assert {(f.store, f.problem) for f in found} == {("keywords", "its words differ from the ledger's")}
    await checked.verify(repair=True)
    assert await checked.verify() == []


async def test_a_snapshots_wrong_vector_is_found(checked: Checked) -> None:
    which = (await _ids(checked))["green tea"]

    def alter(resident: Resident) -> None:
        row = resident.lookup.rows[which]
        wrong = np.zeros((1, 64), np.float32)
        wrong[0, 5] = 1.0
        resident.vectors.remove(row)
        resident.vectors.add(row, wrong)

    await _resave(checked, alter)
    await repaired(checked, ("vectors", "its vector is not the ledger's"))


async def test_a_damaged_ledger_is_reported_and_stays(checked: Checked, tamper: Tamper) -> None:
    tamper("UPDATE event SET payload = zeroblob(length(payload)) WHERE position = 3")
    for repair in (False, True, False):
        found = await checked.verify(repair)
        assert [(f.store, f.repaired) for f in found] == [("ledger", False)]


async def test_partitions_are_looked_at_one_by_one(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with the number of partitions: each is let go before the next one."""
    alive: list[weakref.ref[Resident]] = []
    most = 0
    real = hydration.Hydration.__call__

    async def watched(self: hydration.Hydration, partition: object) -> tuple[Resident, int]:
        nonlocal most
        resident, unsaved = await real(self, partition)  # type: ignore[arg-type]
        alive.append(weakref.ref(resident))
        most = max(most, sum(ref() is not None for ref in alive))
        return resident, unsaved

    monkeypatch.setattr(hydration.Hydration, "__call__", watched)
    for number in range(20):
        await checked.stack.remember(Scope("acme", f"u{number}"), "text")
    await checked.stack.residency.close()
    alive.clear()
    most = 0
    await checked.verify()
    assert most <= 4


async def test_a_page_of_memories_is_one_question(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two for each memory took minutes with 100,000 of them.
    asked = 0
    real = checked.graph._read

    async def counted(*arguments: object) -> object:
        nonlocal asked
        asked += 1
        return await real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(checked.graph, "_read", counted)
    assert await checked.verify() == []
    before, asked = asked, 0
    await checked.stack.remember(ANN, *(f"cup {number}" for number in range(20)))
    checked.projector.publish(checked.stack.published)
    await checked.projector.wait_until_caught_up()
    assert await checked.verify() == []
    assert asked == before
