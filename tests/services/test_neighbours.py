"""The graph around a memory, from the graph store and from the records: the same answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memsidecar.domain.as_of import NOW, AsOf
from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.errors import InvalidField, NotFound, StoreUnavailable
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Preference, Provenance
from memsidecar.services import neighbours
from memsidecar.services.neighbours import Neighbours
from tests.doubles.hash_embedder import HashEmbedder
from tests.doubles.naive_graph import GraphInMemory
from tests.doubles.wrapped_stores import SwitchedGraph
from tests.services.stack import ANN, BEN, Stack

WHO = ANN.partition
HOUR = 3_600_000_000


class World:
    """A stack with its graph; the same questions answered with the graph and, once it fails, without."""

    def __init__(self, stack: Stack, graph: SwitchedGraph, ask: Neighbours) -> None:
        self.stack, self.graph, self.ask = stack, graph, ask

    async def put(self, memory_id: str, body: Body, *sources: str, valid_from: int | None = None) -> None:
        self.stack.clock.time += HOUR
        source = Provenance(derived_from=sources) if sources else None
        draft = Draft(body, source=source, valid_from=valid_from)
        await self.stack.memories.create(WHO, draft, memory_id, Request())

    async def near(
        self, start: str, depth: int = 1, *relations: str, as_of: AsOf = NOW, after: str = "", limit: int = 50
    ) -> list[tuple[int, str, str]]:
        page = await self.ask(WHO, start, depth, relations, as_of, after, limit)
        return [
            (near.depth, near.memory.id, f"{near.source} {near.relation} {near.target}") for near in page.neighbours
        ]


@pytest.fixture(params=["graph", "records"])
async def world(
    request: pytest.FixtureRequest, tmp_path: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    stack = await Stack.open(tmp_path, embedder)
    graph = SwitchedGraph(GraphInMemory())
    ask = await stack.neighbours_in(graph)
    if request.param == "records":
        monkeypatch.setattr(neighbours, "GRAPH_WAIT", 0.05)
        graph.failure = StoreUnavailable("graph", "is away")
    made = World(stack, graph, ask)
    await made.put("ann", Entity("Ann"))
    await made.put("oslo", Entity("Oslo"))
    await made.put("said", Episode("so it is"))
    await made.put("lives", Fact("It is there", subject="ann", predicate="based near", object_entity="oslo"), "said")
    yield made
    graph.failure = None
    await stack.close()


async def test_a_walk_goes_both_ways_nearest_first(world: World) -> None:
    assert await world.near("ann") == [
        (1, "lives", "lives ABOUT ann"),
        (1, "oslo", "ann RELATED oslo"),
    ]
    assert await world.near("ann", 2) == [*await world.near("ann"), (2, "said", "lives DERIVED_FROM said")]
    assert await world.near("said", 3) == [
        (1, "lives", "lives DERIVED_FROM said"),
        (2, "ann", "lives ABOUT ann"),
        (2, "oslo", "lives ABOUT oslo"),
    ]


async def test_only_the_relations_asked_for_are_walked(world: World) -> None:
    assert await world.near("ann", 3, "RELATED") == [(1, "oslo", "ann RELATED oslo")]
    assert await world.near("ann", 3, "DERIVED_FROM") == []
    assert [i for _, i, _ in await world.near("ann", 3, "ABOUT", "DERIVED_FROM")] == ["lives", "oslo", "said"]


async def test_a_fact_that_is_denied_or_gone_relates_nothing(world: World) -> None:
    await world.stack.memories.update(WHO, "lives", Patch({"negated": True}), Request())
    assert await world.near("ann", 1, "RELATED") == []
    await world.stack.memories.update(WHO, "lives", Patch({"negated": False}), Request())
    assert len(await world.near("ann", 1, "RELATED")) == 1
    await world.stack.memories.delete(WHO, "lives", "", False, "", Request())
    assert await world.near("ann", 3) == []
    with pytest.raises(NotFound):
        await world.near("lives")


async def test_pages_make_up_the_whole(world: World) -> None:
    whole = await world.near("said", 3)
    pages, after = [], ""
    while True:
        page = await world.ask(WHO, "said", 3, (), NOW, after, 1)
        pages += [near.memory.id for near in page.neighbours]
        if page.next is None:
            break
        after = page.next
    assert pages == [memory_id for _, memory_id, _ in whole]
    with pytest.raises(InvalidField, match="page_token"):
        await world.near("said", after="nonsense")


async def test_a_walk_stays_in_its_partition(world: World) -> None:
    await world.stack.memories.create(BEN.partition, Draft(Entity("Ann")), "ann", Request())
    page = await world.ask(BEN.partition, "ann", 3, (), NOW, "", 50)
    assert page.neighbours == ()
    with pytest.raises(NotFound):
        await world.ask(BEN.partition, "lives", 1, (), NOW, "", 50)


async def test_what_was_not_true_then_is_not_walked(world: World) -> None:
    await world.put("rome", Entity("Rome"))
    await world.put(
        "later", Fact("Later it is", subject="ann", predicate="seen in", object_entity="rome"), valid_from=10
    )
    assert [i for _, i, _ in await world.near("ann", as_of=AsOf(valid_at=9))] == ["lives", "oslo"]
    assert [i for _, i, _ in await world.near("ann", as_of=AsOf(valid_at=10))] == ["later", "lives", "oslo", "rome"]


async def test_the_graph_of_the_past_is_what_was_known_then(world: World) -> None:
    then = world.stack.clock.time
    world.stack.clock.time += HOUR
    await world.stack.memories.update(WHO, "lives", Patch({"object_entity": ""}), Request())
    await world.put("new", Preference("tea, please", topic="drinks", subject="ann"), "said")
    assert [i for _, i, _ in await world.near("ann", 2)] == ["lives", "new", "said"]
    for _ in range(2):
        assert [i for _, i, _ in await world.near("ann", 2, as_of=AsOf(known_at=then))] == ["lives", "oslo", "said"]
    assert await world.near("ann", as_of=AsOf(known_at=then - HOUR)) == []


async def test_what_is_superseded_is_reached_only_when_judgements_are_asked_for(world: World) -> None:
    await world.put("first", Fact("my home is up north", predicate="lives_in", object_text="north"), valid_from=10)
    await world.put("second", Fact("my home is down south", predicate="lives_in", object_text="south"), valid_from=20)
    assert await world.near("second", 3) == []
    assert await world.near("second", 3, "SUPERSEDES") == [(1, "first", "second SUPERSEDES first")]
    assert await world.near("first", 1) == [(1, "second", "second SUPERSEDES first")]
    assert [i for _, i, _ in await world.near("second", 1, as_of=AsOf(valid_at=15))] == ["first"]


async def test_a_graph_that_is_behind_is_done_without(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "GRAPH_WAIT", 0.05)
    world.graph.gate.clear()
    await world.put("fresh", Fact("Ann again", subject="ann"))
    assert [i for _, i, _ in await world.near("ann")] == ["fresh", "lives", "oslo"]
    world.graph.gate.set()
