"""What a partition's events make of a graph does not depend on the engine, nor on how their replay is cut."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.events import Event, MemoryPurged, subject_of
from memsidecar.domain.fold import Relation, apply
from memsidecar.domain.scope import Partition
from memsidecar.ports.graph import GraphChange, GraphStore
from memsidecar.services.surroundings import Adjacency, is_possible
from tests.contracts.test_graph_store import open_graph
from tests.doubles.histories import HISTORIES, KNOWLEDGE, Command
from tests.doubles.naive_graph import NaiveGraph
from tests.services.resident.test_histories import lived

_CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=5)


class Histories:
    """One graph for all histories, each in partitions of its own: opening one takes longest."""

    def __init__(self, runner: asyncio.Runner, graph: GraphStore) -> None:
        self._runner, self._graph = runner, graph
        self._users, self._positions = count(), count(1)

    def told(self, events: Iterable[Event], cuts: Sequence[int]) -> Partition:
        """A new partition of the graph that was told the events in batches, each batch twice."""
        partition = Partition("n", f"u{next(self._users)}")
        changes = [GraphChange(next(self._positions), partition, apply(event)) for event in events]
        for batch in _cut(changes, cuts):
            self._runner.run(self._graph.apply(batch))
            self._runner.run(self._graph.apply(batch))
        return partition

    def assert_is(self, partition: Partition, model: NaiveGraph) -> None:
        self._runner.run(self._assert_is(partition, model))

    async def _assert_is(self, partition: Partition, model: NaiveGraph) -> None:
        graph = self._graph
        ids = list(model.memories)
        assert await graph.nodes(partition, "", 1000) == model.nodes()
        assert await graph.conflicts(partition, "", 1000) == model.conflicts()
        assert await graph.ties(partition, ids) == model.ties(ids)
        assert await graph.edges(partition, ids) == model.edges(ids)


def _cut(changes: Sequence[GraphChange], cuts: Sequence[int]) -> Iterator[Sequence[GraphChange]]:
    at = number = 0
    while at < len(changes):
        size = cuts[number % len(cuts)]
        yield changes[at : at + size]
        at, number = at + size, number + 1


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Histories]:
    with asyncio.Runner() as runner:
        graph = runner.run(open_graph(tmp_path_factory.mktemp("graph")))
        yield Histories(runner, graph)
        runner.run(graph.close())


def model_of(events: Iterable[Event]) -> NaiveGraph:
    model = NaiveGraph()
    for event in events:
        model.apply([GraphChange(1, Partition("n", "u"), apply(event))])
    return model


def readable(events: Sequence[Event]) -> list[Event]:
    """What a replay finds: payloads before a purge are erased."""
    purged = {event.memory_id: at for at, event in enumerate(events) if isinstance(event, MemoryPurged)}
    return [event for at, event in enumerate(events) if at >= purged.get(subject_of(event), -1)]


@settings(max_examples=25, deadline=None)
@given(HISTORIES | KNOWLEDGE, _CUTS)
def test_an_engines_graph_is_the_naive_one(histories: Histories, history: list[Command], cuts: list[int]) -> None:
    *_, events = lived(history)
    model = model_of(events)
    histories.assert_is(histories.told(events, cuts), model)
    histories.assert_is(histories.told(readable(events), cuts[::-1]), model)


@settings(max_examples=100, deadline=None)
@given(HISTORIES | KNOWLEDGE)
def test_a_replay_without_what_is_erased_makes_the_same_graph(history: list[Command]) -> None:
    *_, events = lived(history)
    live, replayed = model_of(events), model_of(readable(events))
    assert (live.nodes(), live.conflicts(), live.drawn) == (replayed.nodes(), replayed.conflicts(), replayed.drawn)


@settings(max_examples=100, deadline=None)
@given(HISTORIES | KNOWLEDGE)
def test_the_records_alone_say_what_the_graph_says(history: list[Command]) -> None:
    resident, _, events = lived(history)
    if any(isinstance(event, MemoryPurged) for event in events):
        return  # an id that is used again: the records do not know that it was another memory's
    adjacency, model = Adjacency(), model_of(events)
    for memory_id in model.memories:
        memory = resident.memory(memory_id)
        assert memory is not None
        adjacency.add(memory)
    for conflict in resident.conflicts.all():
        adjacency.judge(conflict)
    negated = {tie.edge for tie in model.ties(list(model.memories)) if tie.negated}
    for memory_id in model.memories:
        around = asyncio.run(adjacency.around([memory_id], list(Relation)))
        edges = {edge for edge in model.links if memory_id in (edge.source, edge.target) and edge.source}
        # What reads them asks that, too: only an episode can say something again.
        said = {reached.edge for reached in around if is_possible(reached.edge, resident.memory)}
        assert said - negated == edges - negated
