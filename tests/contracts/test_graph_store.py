"""What every GraphStore promises. MEMSIDECAR_TEST_ENGINE chooses the engine: one a process, they cannot share one."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memsidecar.adapters.kuzu_graph import KuzuGraph
from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.fold import Delta, Edge, Relation
from memsidecar.domain.memory import Entity, Episode, Fact, Kind, State
from memsidecar.domain.scope import Partition
from memsidecar.ports.graph import GraphChange, GraphNode, GraphStore
from tests.contracts.graph_samples import ALICE, Chance, memory, purge, put, puts
from tests.doubles.naive_graph import GraphInMemory, NaiveGraph

ENGINE = os.environ.get("MEMSIDECAR_TEST_ENGINE", "kuzu")

NASTY = [
    Partition("a", "b"),
    Partition("a"),
    Partition("ab"),
    Partition("", "ab"),
    Partition("a/b"),
    Partition("a%2Fb"),
    Partition("acme", "john_doe"),
    Partition("acme", "john-doe"),
    Partition("acme-corp", "john_doe"),
    Partition("acme", "' OR 1=1 --"),
    Partition("acme", "}) DETACH DELETE n //"),
    Partition("公司", "张三"),
    Partition("公司", "张三丰"),
    Partition("🙂", "🙂🙂"),
    Partition("1:a", "b"),
]


async def open_graph(directory: Path) -> KuzuGraph:
    return await KuzuGraph.open(directory, ENGINE, 256 << 20, min_free_bytes=0)


def set_aside(directory: Path) -> list[Path]:
    return list(directory.glob("graph.bad-*"))


@pytest.fixture(params=["engine", "in memory"])
async def graph(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GraphStore]:
    store: GraphStore = GraphInMemory() if request.param == "in memory" else await open_graph(tmp_path)
    yield store
    await store.close()


async def test_empty_graph_has_applied_nothing(graph: GraphStore) -> None:
    assert graph.rebuilt == ""
    assert await graph.applied() == 0
    assert await graph.node(ALICE, "x") is None
    assert await graph.nodes(ALICE, "", 10) == []
    assert await graph.edges(ALICE, ["x"]) == []
    assert await graph.neighbours(ALICE, ["x"], 3, 10) == []
    assert await graph.ties(ALICE, ["x"]) == []
    assert await graph.conflicts(ALICE, "", 10) == []
    assert await graph.count(ALICE) == 0
    await graph.apply([])
    await graph.check()


@pytest.mark.parametrize("kind", list(Kind))
async def test_each_kind_is_found_with_its_state_and_version(graph: GraphStore, kind: Kind) -> None:
    await graph.apply([put(7, memory("m", kind, version=3, state=State.SUPERSEDED))])
    assert await graph.node(ALICE, "m") == GraphNode("m", kind, State.SUPERSEDED, 3)
    assert await graph.applied() == 7


async def test_position_moves_on_when_a_change_is_nothing_to_the_graph(graph: GraphStore) -> None:
    await graph.apply([GraphChange(5, ALICE, Delta("m"))])
    assert await graph.applied() == 5
    assert await graph.count(ALICE) == 0


async def test_all_relations_issue_from_a_memory_in_order(graph: GraphStore) -> None:
    fact = memory("f", mentions=["e2", "e1"], derived_from=["p"], body=Fact("s", subject="e1", object_entity="e2"))
    talk = memory("p", body=Episode("t", participants=("e1",), follows="p0"))
    others = [memory("p0", Kind.EPISODE), memory("e1", Kind.ENTITY), memory("e2", Kind.ENTITY)]
    await graph.apply(puts([*others, talk, fact]))
    assert await graph.edges(ALICE, ["f"]) == [
        Edge("f", Relation.ABOUT, "e1"),
        Edge("f", Relation.ABOUT, "e2"),
        Edge("f", Relation.DERIVED_FROM, "p"),
        Edge("f", Relation.MENTIONS, "e1"),
        Edge("f", Relation.MENTIONS, "e2"),
    ]
    assert await graph.edges(ALICE, ["p"]) == [Edge("p", Relation.FOLLOWS, "p0"), Edge("p", Relation.MENTIONS, "e1")]


async def test_put_replaces_properties_and_outgoing_edges_only(graph: GraphStore) -> None:
    entities = [memory(name, Kind.ENTITY) for name in ("e1", "e2", "e3")]
    await graph.apply(puts([*entities, memory("f", mentions=["e1", "e2"]), memory("g", derived_from=["f"])]))
    await graph.apply([put(10, memory("f", mentions=["e2", "e3"], version=2, state=State.DISPUTED))])
    assert await graph.node(ALICE, "f") == GraphNode("f", Kind.FACT, State.DISPUTED, 2)
    assert [edge.target for edge in await graph.edges(ALICE, ["f"])] == ["e2", "e3"]
    assert [edge.target for edge in await graph.edges(ALICE, ["g"])] == ["f"]
    assert await graph.count(ALICE) == 5


async def test_last_put_of_a_batch_wins(graph: GraphStore) -> None:
    await graph.apply(puts([memory("m", version=1), memory("m", version=2), memory("m", version=3)]))
    node = await graph.node(ALICE, "m")
    assert node is not None
    assert node.version == 3


async def test_edge_to_a_missing_memory_is_left_out(graph: GraphStore) -> None:
    await graph.apply([put(1, memory("f", mentions=["nobody"]))])
    assert await graph.edges(ALICE, ["f"]) == []


async def test_edge_to_another_partitions_memory_is_left_out(graph: GraphStore) -> None:
    bob = Partition("acme", "bob")
    await graph.apply([put(1, memory("e", Kind.ENTITY, partition=bob)), put(2, memory("f", mentions=["e"]))])
    assert await graph.edges(ALICE, ["f"]) == []
    assert await graph.neighbours(bob, ["e"], 3, 10) == []


async def test_purge_removes_the_memory_and_its_edges(graph: GraphStore) -> None:
    await graph.apply(puts([memory("e", Kind.ENTITY), memory("f", mentions=["e"]), memory("g", derived_from=["f"])]))
    await graph.apply([purge(4, "f"), purge(5, "never was")])
    assert await graph.node(ALICE, "f") is None
    assert await graph.edges(ALICE, ["g"]) == []
    assert await graph.neighbours(ALICE, ["e"], 3, 10) == []
    assert await graph.count(ALICE) == 2


async def test_purged_id_can_be_put_again_in_the_same_batch(graph: GraphStore) -> None:
    await graph.apply(puts([memory("e", Kind.ENTITY), memory("f", mentions=["e"])]))
    await graph.apply([purge(3, "e"), put(4, memory("e", Kind.ENTITY, version=9)), put(5, memory("x"))])
    assert await graph.edges(ALICE, ["f"]) == []
    assert await graph.node(ALICE, "e") == GraphNode("e", Kind.ENTITY, State.ACTIVE, 9)


async def test_applying_again_changes_nothing(graph: GraphStore) -> None:
    changes = puts([memory("e", Kind.ENTITY), memory("f", mentions=["e"]), memory("f", version=2, mentions=["e"])])
    await graph.apply(changes)
    await graph.apply(changes)
    await graph.apply(changes[:2])
    assert [node.version for node in await graph.nodes(ALICE, "", 10)] == [1, 2]
    assert await graph.edges(ALICE, ["f"]) == [Edge("f", Relation.MENTIONS, "e")]
    assert await graph.applied() == 3


async def test_ids_come_in_order_page_by_page(graph: GraphStore) -> None:
    ids = ["Z", "a", "a/b", "a%2Fb", "b'", "é", "绿茶", "🙂", *(f"m{number:04}" for number in range(300))]
    kinds = list(Kind)
    await graph.apply(puts(memory(name, kinds[index % 5]) for index, name in enumerate(ids)))
    seen: list[str] = []
    while page := await graph.nodes(ALICE, seen[-1] if seen else "", 70):
        seen += [node.memory_id for node in page]
    assert seen == sorted(ids)
    assert await graph.nodes(ALICE, "", 0) == []


async def test_partitions_never_see_each_other(graph: GraphStore) -> None:
    changes = []
    for number, partition in enumerate(NASTY):
        entity = memory("same", body=Entity(f"entity of {number}"), partition=partition, version=number + 1)
        changes += [put(2 * number + 1, entity)]
        changes += [put(2 * number + 2, memory(f"f{number}", mentions=["same"], partition=partition))]
    await graph.apply(changes)
    for number, partition in enumerate(NASTY):
        assert [(node.memory_id, node.version) for node in await graph.nodes(partition, "", 10)] == [
            (f"f{number}", 1),
            ("same", number + 1),
        ]
        assert [found.memory_id for found in await graph.neighbours(partition, ["same"], 3, 10)] == [f"f{number}"]
        assert await graph.count(partition) == 2
    await graph.apply([purge(1000, "same", NASTY[0])])
    assert [await graph.count(partition) for partition in NASTY] == [1] + [2] * (len(NASTY) - 1)


async def test_neighbours_are_nearest_first_and_bounded(graph: GraphStore) -> None:
    chain = [memory("a", Kind.ENTITY), memory("b", mentions=["a"]), memory("c", derived_from=["b"])]
    await graph.apply(puts([*chain, memory("d", derived_from=["c"]), memory("b2", mentions=["a"])]))

    async def reached(depth: int, limit: int = 10) -> list[tuple[str, int]]:
        return [(found.memory_id, found.depth) for found in await graph.neighbours(ALICE, ["a"], depth, limit)]

    assert await reached(1) == [("b", 1), ("b2", 1)]
    assert await reached(2) == [("b", 1), ("b2", 1), ("c", 2)]
    assert await reached(3) == [("b", 1), ("b2", 1), ("c", 2), ("d", 3)]
    assert await reached(3, limit=3) == [("b", 1), ("b2", 1), ("c", 2)]
    assert await reached(3, limit=0) == []
    last = (await graph.neighbours(ALICE, ["b", "b2", "nobody", "b"], 2, 10))[-1]
    assert (last.memory_id, last.depth, last.edge) == ("d", 2, Edge("d", Relation.DERIVED_FROM, "c"))


async def test_hub_is_cut_at_the_smallest_ids(graph: GraphStore) -> None:
    names = [f"f{number:03}" for number in range(200)]
    await graph.apply(puts([memory("hub", Kind.ENTITY), *(memory(name, mentions=["hub"]) for name in names)]))
    found = await graph.neighbours(ALICE, ["hub"], 3, 20)
    assert [item.memory_id for item in found] == names[:20]
    many = await graph.neighbours(ALICE, names[:50], 2, 30)
    assert [item.memory_id for item in many] == ["hub", *names[50:79]]


@pytest.mark.parametrize("depth", [0, 4])
async def test_depth_out_of_range_is_refused(graph: GraphStore, depth: int) -> None:
    with pytest.raises(ValueError, match="depth"):
        await graph.neighbours(ALICE, ["a"], depth, 10)


async def test_graph_is_the_same_after_reopening(tmp_path: Path) -> None:
    for checkpoint in (False, True):
        graph = await open_graph(tmp_path)
        first = 100 if checkpoint else 1
        await graph.apply(puts([memory("e", Kind.ENTITY), memory(f"f{first}", mentions=["e"])], first))
        if checkpoint:
            await graph.checkpoint()
        await graph.close()
    graph = await open_graph(tmp_path)
    assert graph.rebuilt == ""
    assert await graph.applied() == 101
    assert [found.memory_id for found in await graph.neighbours(ALICE, ["e"], 1, 10)] == ["f1", "f100"]
    await graph.close()


async def test_readers_writer_and_checkpoints_do_not_disturb_each_other(graph: GraphStore) -> None:
    await graph.apply(puts([memory("e", Kind.ENTITY)]))
    done = asyncio.Event()

    async def read() -> None:
        seen = 0
        while not done.is_set():
            found = len(await graph.neighbours(ALICE, ["e"], 2, 1000))
            assert seen <= found <= 60
            assert found % 3 == 0, "a batch is seen whole or not at all"
            seen = found

    readers = [asyncio.create_task(read()) for _ in range(4)]
    for first in range(10, 70, 3):
        await graph.apply(puts((memory(f"m{first + step}", mentions=["e"]) for step in range(3)), first))
        if first % 4 == 0:
            await graph.checkpoint()
    done.set()
    await asyncio.gather(*readers)
    assert await graph.count(ALICE) == 61


async def test_calls_queue_in_the_order_they_were_made(graph: GraphStore) -> None:
    await asyncio.gather(*(graph.apply([put(number, memory("m", version=number))]) for number in range(1, 30)))
    node = await graph.node(ALICE, "m")
    assert node is not None
    assert node.version == 29


async def test_reset_starts_empty_and_deletes_nothing(tmp_path: Path) -> None:
    graph = await open_graph(tmp_path)
    for _ in range(2):
        await graph.apply([put(3, memory("m"))])
        await graph.reset("the test says so")
        assert await graph.applied() == 0
        assert await graph.count(ALICE) == 0
    await graph.apply([put(1, memory("n"))])
    assert [node.memory_id for node in await graph.nodes(ALICE, "", 10)] == ["n"]
    assert len(set_aside(tmp_path)) == 2
    await graph.close()


async def test_closed_graph_is_unavailable(tmp_path: Path) -> None:
    graph = await open_graph(tmp_path)
    await graph.close()
    await graph.close()
    for call in (graph.check(), graph.apply([put(1, memory("m"))]), graph.count(ALICE)):
        with pytest.raises(StoreUnavailable):
            await call


async def same(
    graph: GraphStore, model: NaiveGraph, partition: Partition, ids: list[str], chance: random.Random
) -> None:
    assert await graph.nodes(partition, "", 1000) == model.nodes()
    assert await graph.count(partition) == len(model.memories)
    for memory_id in model.memories:
        assert await graph.edges(partition, [memory_id]) == model.edges([memory_id])
    assert await graph.edges(partition, [*ids, "nobody", ids[0]]) == model.edges(ids)
    few = chance.sample(list(Relation), 3)
    assert await graph.edges(partition, [ids[0]], few) == model.edges([ids[0]], few)
    assert await graph.ties(partition, ids) == model.ties(ids)
    assert await graph.ties(partition, ids[:1]) == model.ties(ids[:1])
    assert await graph.conflicts(partition, "", 1000) == model.conflicts()
    starts = chance.sample(ids, 12)
    for some in (starts[:1], starts):
        for depth in (1, 2, 3):
            for relations in ((), few):
                found = await graph.neighbours(partition, some, depth, 1000, relations)
                assert list(found) == list(model.neighbours(some, depth, 1000, relations))


async def test_random_history_equals_the_naive_graph(tmp_path: Path) -> None:
    chance = random.Random(1)
    partitions = [Partition("n", "a"), Partition("n", "b"), Partition("n")]
    models = {partition: NaiveGraph() for partition in partitions}
    ids = [f"m{number:02}" for number in range(40)]
    changes_of = Chance(chance, ids)
    graph = await open_graph(tmp_path)
    position = 0
    for _ in range(7):
        changes = []
        for _ in range(chance.choice([1, 3, 20, 200])):
            position += chance.randint(1, 3)
            changes.append(changes_of.change(position, chance.choice(partitions)))
        for partition, model in models.items():
            model.apply([change for change in changes if change.partition == partition])
        await graph.apply(changes)
        if chance.random() < 0.2:
            await graph.checkpoint()
        if chance.random() < 0.3:
            await graph.apply(changes)
        if chance.random() < 0.3:
            await graph.close()
            graph = await open_graph(tmp_path)
            assert graph.rebuilt == ""
        assert await graph.applied() == position
    for partition, model in models.items():
        await same(graph, model, partition, ids, chance)
    await graph.close()
