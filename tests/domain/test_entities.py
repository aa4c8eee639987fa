"""Entities that are one, and entities that only look so. Numbers are of the field's bugs, `field_bugs.md`."""

from __future__ import annotations

import pytest

from memsidecar.domain.conflict import ConflictState
from memsidecar.domain.errors import ConflictBlocked, InvalidField, NotFound
from memsidecar.domain.memory import Entity, Episode, Fact, Preference, State
from memsidecar.domain.scope import Partition
from tests.domain.conflicts.knowledge import Knowledge


@pytest.fixture
def known() -> Knowledge:
    return Knowledge()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("스코프랩스", "스코프 랩스", True),  # 62
        ("김민수", "김민석", False),
        ("北京大学", "上海大学", False),
        ("Acme", "Acme Corp", False),
        ("DGIA", "DGIA", True),  # 61
        ("Acme\n Corp", "Acme Corp", True),  # 65
        ("Wren 🕯️", "Wren 🗯️", True),  # 64
        ("Merrivale", "Merryvale", False),
    ],
)
def test_names_are_one_by_their_letters_and_never_by_likeness(
    known: Knowledge, one: str, other: str, same: bool
) -> None:
    assert (known.entity(one) == known.entity(other)) is same


def test_a_merged_entity_is_found_by_all_its_names_and_named_by_all_its_memories(known: Knowledge) -> None:
    corp, acme = known.entity("Acme Corp", "ACME Inc"), known.entity("Acme")
    works = known.says("Bob", attribute="friend", subject=acme).memory.id
    met = known.remember(Episode("met", participants=(corp, acme)), mentions=(acme,)).memory.id
    likes = known.remember(Preference("p", "likes", "tea", 1.0, acme)).memory.id
    owns = known.remember(Fact("f", corp, "owns", acme)).memory.id
    before = dict(known.state.memories)
    merged = known.merge(corp, acme)
    assert merged.moved == 4
    body = merged.entities[0].body
    assert isinstance(body, Entity)
    assert set(body.aliases) == {"ACME Inc", "Acme"}
    assert merged.entities[1].state is State.SUPERSEDED
    assert known.state.entity("acme") == known.state.entity("acme corp") == corp
    assert not list(known.state.naming(acme))
    assert known.memory(works).body.subject == corp  # type: ignore[union-attr]
    assert known.memory(met).body.participants == (corp,)  # type: ignore[union-attr]
    assert known.memory(met).mentions == (corp,)
    assert known.memory(likes).body.subject == corp  # type: ignore[union-attr]
    assert known.memory(owns).body.object_entity == corp  # type: ignore[union-attr]
    assert known.entity("Acme") == corp
    parted = known.unmerge(acme)
    assert parted.moved == 4
    for memory_id, memory in before.items():
        now = known.memory(memory_id)
        if memory_id == corp:
            continue
        assert (now.body, now.mentions, now.state, now.updated_at, now.digest) == (
            memory.body,
            memory.mentions,
            memory.state,
            memory.updated_at,
            memory.digest,
        )
    assert known.state.entity("acme") == acme


def test_what_was_stored_since_keeps_the_target(known: Knowledge) -> None:
    corp, acme = known.entity("Acme Corp"), known.entity("Acme")
    known.merge(corp, acme)
    since = known.remember(Episode("I was at Acme"), entity_names=("Acme",)).memory.id
    known.unmerge(acme)
    assert known.memory(since).mentions == (corp,)
    assert known.state.entity("acme") == acme


def test_slots_that_meet_are_left_open(known: Knowledge) -> None:
    ada, lovelace = known.entity("Ada"), known.entity("Ada Lovelace")
    rome = known.says("Rome", 10, subject=ada).memory.id
    oslo = known.says("Oslo", 20, subject=lovelace).memory.id
    same = known.says("teacher", 10, "job", subject=ada).memory.id
    merged = known.merge(lovelace, ada)
    (conflict,) = known.conflicts(ConflictState.OPEN)
    assert merged.conflicts == (conflict.id,)
    assert set(conflict.memories) == {rome, oslo}
    assert {known.memory(i).state for i in (rome, oslo)} == {State.DISPUTED}
    assert known.memory(same).state is State.ACTIVE
    known.unmerge(ada)
    assert known.conflicts(ConflictState.OPEN) == []
    assert {known.memory(i).state for i in (rome, oslo)} == {State.ACTIVE}


def test_a_merge_of_what_is_no_entity_is_refused(known: Knowledge) -> None:
    ada, fact = known.entity("Ada"), known.says("Rome").memory.id
    for sources, error, field in [
        ((fact,), InvalidField, "sources[0]"),
        ((ada,), InvalidField, "sources[0]"),
        ((), InvalidField, "sources"),
        (("gone",), NotFound, ""),
    ]:
        assert known.refused(lambda s=sources: known.merge(ada, *s), error).startswith(field)  # type: ignore[misc]
    other = known.entity("Bob")
    assert known.refused(lambda: known.merge(ada, other, other), InvalidField).startswith("sources[1]")
    assert known.refused(lambda: known.unmerge(ada), InvalidField).startswith("source")
    known.merge(ada, other)
    known.refused(lambda: known.merge(ada, other), InvalidField)
    assert Partition("n", "u").name in known.refused(lambda: known.unmerge("gone"), NotFound)


def test_three_are_one_and_part_one_by_one(known: Knowledge) -> None:
    a, b, c = known.entity("A"), known.entity("B"), known.entity("C")
    for entity in (b, c):
        known.says("tea", attribute="owns", subject=entity)
    assert known.merge(a, b, c).moved == 2
    known.unmerge(b)
    assert len(list(known.state.naming(b))) == 1
    assert known.state.entity("c") == a
    known.unmerge(c)
    assert known.state.entity("c") == c
    assert list(known.state.naming(a)) == []


def test_a_purge_of_a_moved_memory_takes_its_id_out_of_the_merge(known: Knowledge) -> None:
    a, b = known.entity("A"), known.entity("B")
    fact = known.says("tea", attribute="owns", subject=b).memory.id
    known.merge(a, b)
    known.purge(fact)
    assert fact not in repr(known.conflicts())
    known.unmerge(b)


def test_what_is_written_of_the_old_id_is_of_the_one_that_is_left(known: Knowledge) -> None:
    a, b, c = known.entity("A"), known.entity("B"), known.entity("C")
    known.merge(b, a)
    known.merge(c, b)
    fact = known.remember(Fact("f", a, "owns", b), mentions=(a, c)).memory
    assert (fact.body.subject, fact.body.object_entity, fact.mentions) == (c, c, (c,))  # type: ignore[union-attr]


def test_a_merge_into_what_is_merged_itself_is_undone_after_that_one(known: Knowledge) -> None:
    a, b, c = known.entity("A"), known.entity("B"), known.entity("C")
    fact = known.remember(Fact("C is big", subject=c, predicate="size", object_text="big")).memory
    known.merge(b, c)
    known.merge(a, b)
    known.refused(lambda: known.unmerge(c), ConflictBlocked)
    known.unmerge(b)
    known.unmerge(c)
    assert known.memory(fact.id).body == fact.body
