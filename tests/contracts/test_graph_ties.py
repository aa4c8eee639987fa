"""What every GraphStore promises of ties and conflicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memsidecar.domain.conflict import ConflictState, Policy, Resolution, Rule
from memsidecar.domain.fold import Edge, Relation
from memsidecar.domain.memory import Entity, Fact, Kind, Memory, Preference, Provenance, State
from memsidecar.domain.scope import Partition
from memsidecar.domain.ties import Tie
from memsidecar.ports.graph import GraphConflict, GraphStore
from tests.contracts.graph_samples import ALICE, conflict, judge, memory, purge, put, puts
from tests.contracts.test_graph_store import graph, open_graph

__all__ = ["graph"]


def fact(memory_id: str, valid_from: int | None = None, valid_to: int | None = None, version: int = 1) -> Memory:
    return replace(memory(memory_id, version=version), valid_from=valid_from, valid_to=valid_to)


async def judgements(graph: GraphStore, *ids: str) -> list[tuple[str, str, str, str]]:
    return [(tie.source, tie.relation.value, tie.target, tie.drawn_by) for tie in await graph.ties(ALICE, ids)]


async def test_a_resolved_conflict_says_who_supersedes_whom_and_why(graph: GraphStore) -> None:
    resolved = conflict(
        "k",
        "old",
        "new",
        state=ConflictState.RESOLVED,
        policy=Policy.SUPERSEDE,
        resolution=Resolution.CHANGED,
        winner="new",
        losers=("old",),
        resolved_at=9,
    )
    await graph.apply([put(1, fact("old", 1, 5)), put(2, fact("new", 5)), judge(3, resolved)])
    supersedes = Tie(
        "new",
        Relation.SUPERSEDES,
        "old",
        "k",
        recorded_at=9,
        valid_from=1,
        valid_to=5,
        rule=Rule.VALUE,
        policy=Policy.SUPERSEDE,
        resolution=Resolution.CHANGED,
    )
    assert await graph.ties(ALICE, ["old"]) == [supersedes]
    assert await graph.ties(ALICE, ["new", "old", "nobody"]) == [supersedes]
    assert await graph.edges(ALICE, ["new"]) == [supersedes.edge]
    assert await graph.conflicts(ALICE, "", 10) == [GraphConflict("k", ConflictState.RESOLVED, 1)]
    assert await graph.count(ALICE) == 2, "a conflict is no memory"
    assert [node.memory_id for node in await graph.nodes(ALICE, "", 10)] == ["new", "old"]


async def test_a_judgement_follows_the_validity_of_what_it_judges(graph: GraphStore) -> None:
    await graph.apply([*puts([fact("a", 1), fact("b", 2)]), judge(3, conflict("k", "a", "b"))])
    await graph.apply([put(4, fact("a", 1, 2, version=2))])
    (tie,) = await graph.ties(ALICE, ["b"])
    assert (tie.relation, tie.target, tie.valid_from, tie.valid_to) == (Relation.CONTRADICTS, "a", 1, 2)


async def test_a_conflicts_next_version_replaces_its_edges_and_no_others(graph: GraphStore) -> None:
    await graph.apply(puts([memory(name) for name in "abc"]))
    await graph.apply([judge(4, conflict("k", "a", "b", "c")), judge(5, conflict("other", "a", "c"))])
    by_other = ("c", "CONTRADICTS", "a", "other")
    assert await judgements(graph, "c") == [
        ("c", "CONTRADICTS", "a", "k"),
        by_other,
        ("c", "CONTRADICTS", "b", "k"),
    ]
    settled = conflict("k", "a", "b", version=2, state=ConflictState.RESOLVED, winner="b", losers=("a",))
    await graph.apply([judge(6, settled)])
    assert await judgements(graph, *"abc") == [by_other, ("b", "SUPERSEDES", "a", "k")]
    for position, state in enumerate((ConflictState.UNDONE, ConflictState.DISMISSED), 7):
        await graph.apply([judge(position, conflict("k", "a", "b", version=position, state=state))])
        assert await judgements(graph, *"abc") == [by_other]
        assert await graph.conflicts(ALICE, "", 1) == [GraphConflict("k", state, position)]
    await graph.apply([judge(9, conflict("k", "a", "b", version=9))])
    assert await judgements(graph, *"ab") == [("b", "CONTRADICTS", "a", "k"), by_other]


async def test_a_new_version_of_a_memory_keeps_what_conflicts_drew(graph: GraphStore) -> None:
    await graph.apply([*puts([memory("a"), memory("b")]), judge(3, conflict("k", "a", "b"))])
    await graph.apply([put(4, memory("a", version=2)), put(5, memory("b", version=2, state=State.DISPUTED))])
    assert await judgements(graph, "a") == [("b", "CONTRADICTS", "a", "k")]


async def test_a_purge_takes_judgements_along_for_good(graph: GraphStore) -> None:
    await graph.apply([*puts([memory(name) for name in "abc"]), judge(4, conflict("k", "a", "b", "c"))])
    await graph.apply([purge(5, "a")])
    assert await judgements(graph, *"abc") == [("c", "CONTRADICTS", "b", "k")]
    # Another memory under that id is not what the conflict was about.
    await graph.apply([put(6, memory("a"))])
    assert await judgements(graph, *"abc") == [("c", "CONTRADICTS", "b", "k")]


async def test_a_conflict_and_a_memory_may_have_one_id(graph: GraphStore) -> None:
    await graph.apply([*puts([memory("k"), memory("a")]), judge(3, conflict("k", "k", "a"))])
    assert await judgements(graph, "k") == [("a", "CONTRADICTS", "k", "k")]
    await graph.apply([purge(4, "k")])
    assert await judgements(graph, "a") == []
    assert len(await graph.conflicts(ALICE, "", 10)) == 1


async def test_a_source_that_says_it_again_supports_it(graph: GraphStore) -> None:
    said = [memory(name, Kind.EPISODE) for name in ("p1", "p2", "p3")]
    sources = tuple(Provenance(derived_from=ids) for ids in (("p1",), ("p2", "p1"), ("p3",)))
    await graph.apply(puts([*said, replace(memory("f"), provenance=sources)]))
    assert [(tie.source, tie.relation) for tie in await graph.ties(ALICE, ["f"])] == [
        ("p2", Relation.SUPPORTS),
        ("p3", Relation.SUPPORTS),
    ]
    assert Edge("p2", Relation.SUPPORTS, "f") in await graph.edges(ALICE, ["p2"])
    await graph.apply([put(9, replace(memory("f", version=2), provenance=sources[:2]))])
    assert [tie.source for tie in await graph.ties(ALICE, ["f"])] == ["p2"]


def lives(version: int, subject: str, target: str, **changes: object) -> Memory:
    body = Fact("s", subject=subject, predicate="lives in", object_entity=target, negated=version % 2 == 0)
    return replace(memory("f", body=body, version=version), **changes)  # type: ignore[arg-type]  # a test's own words


async def test_a_fact_relates_its_subject_to_its_object_while_it_holds(graph: GraphStore) -> None:
    await graph.apply(puts([memory(name, Kind.ENTITY) for name in ("ann", "oslo", "rome")]))
    await graph.apply([put(4, lives(1, "ann", "oslo", valid_from=3))])
    related = Tie("ann", Relation.RELATED, "oslo", "f", recorded_at=1, valid_from=3)
    assert await graph.ties(ALICE, ["ann"]) == [related]
    await graph.apply([put(5, lives(2, "ann", "rome", valid_to=8))])
    assert await graph.ties(ALICE, ["ann"]) == [
        replace(related, target="rome", valid_from=None, valid_to=8, negated=True)
    ]
    later = lives(3, "rome", "ann", state=State.SUPERSEDED, superseded_at=1 << 50)
    await graph.apply([put(6, later)])
    assert [tie.edge for tie in await graph.ties(ALICE, ["ann"])] == [Edge("rome", Relation.RELATED, "ann")]
    await graph.apply([put(7, replace(later, superseded_at=1))])
    assert await graph.ties(ALICE, ["ann"]) == []
    await graph.apply([put(8, lives(5, "ann", "oslo")), purge(9, "f")])
    assert await graph.ties(ALICE, ["ann", "oslo"]) == []
    await graph.apply([put(10, lives(7, "ann", "oslo"))])
    await graph.apply([purge(11, "f")])
    assert await graph.ties(ALICE, ["ann", "oslo"]) == [], "what is purged relates nothing"


async def test_a_wish_is_its_users_or_its_subjects(graph: GraphStore) -> None:
    wish = Preference("prefers tea", topic="drinks", polarity=1.0)
    ben = memory("ben", body=Entity("Ben"))
    await graph.apply(puts([ben, memory("own", body=wish), memory("his", body=replace(wish, subject="ben"))]))
    assert [tie.edge for tie in await graph.ties(ALICE, ["own", "his"])] == [
        Edge("", Relation.PREFERS, "own"),
        Edge("ben", Relation.PREFERS, "his"),
    ]
    found = await graph.neighbours(ALICE, ["own", "his"], 3, 10, [Relation.PREFERS])
    assert [(item.memory_id, item.edge.source) for item in found] == [("ben", "ben")], "the user is no memory"
    await graph.apply([put(4, memory("own", body=replace(wish, subject="ben"), version=2))])
    assert len(await graph.edges(ALICE, ["ben"], [Relation.PREFERS])) == 2
    await graph.apply([put(5, memory("own", body=wish, version=3, state=State.DELETED)), purge(6, "ben")])
    assert await graph.ties(ALICE, ["own", "his"]) == []


async def test_a_tie_never_leaves_its_partition(graph: GraphStore) -> None:
    bob = Partition("acme", "bob")
    await graph.apply([put(1, memory("a")), put(2, memory("b", partition=bob)), judge(3, conflict("k", "a", "b"))])
    await graph.apply([judge(4, conflict("k", "b"), bob)])
    assert await graph.ties(ALICE, ["a", "b"]) == []
    assert await graph.ties(bob, ["a", "b"]) == []
    assert [len(await graph.conflicts(who, "", 10)) for who in (ALICE, bob)] == [1, 1]


async def test_only_the_relations_that_are_asked_for_are_walked(graph: GraphStore) -> None:
    entities = [memory(name, Kind.ENTITY) for name in ("ann", "oslo")]
    await graph.apply([*puts(entities), put(3, lives(1, "ann", "oslo")), put(4, memory("g", derived_from=["f"]))])

    async def reached(*relations: Relation) -> list[str]:
        return [found.memory_id for found in await graph.neighbours(ALICE, ["ann"], 3, 10, relations)]

    assert await reached(Relation.RELATED) == ["oslo"]
    assert await reached(Relation.ABOUT) == ["f", "oslo"]
    assert await reached(Relation.ABOUT, Relation.DERIVED_FROM) == ["f", "g", "oslo"]
    assert await reached(Relation.SUPERSEDES, Relation.FOLLOWS) == []


async def test_what_conflicts_drew_survives_a_restart(tmp_path: Path) -> None:
    store = await open_graph(tmp_path)
    await store.apply([*puts([memory("a"), memory("b")]), judge(3, conflict("k", "a", "b"))])
    await store.close()
    store = await open_graph(tmp_path)
    assert store.rebuilt == ""
    await store.apply([judge(4, conflict("k", "a", "b", version=2, state=ConflictState.DISMISSED))])
    assert await store.ties(ALICE, ["a"]) == []
    assert await store.conflicts(ALICE, "", 10) == [GraphConflict("k", ConflictState.DISMISSED, 2)]
    await store.close()
