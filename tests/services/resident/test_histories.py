"""A resident partition answers as the definition does, after any history, however it came to be in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.domain.events import Change, Event, MemoryPurged, MemoryRecorded, subject_of
from memsidecar.domain.fold import apply
from memsidecar.domain.indexed_text import indexed_text
from memsidecar.domain.memory import Entity, Episode, Memory, State
from memsidecar.domain.slot_places import Sought, place_of
from memsidecar.domain.slots import slot_of
from memsidecar.domain.text import entity_key
from memsidecar.domain.tokens import tokens
from memsidecar.domain.view import called_keys
from memsidecar.ports.ledger import Head
from memsidecar.services.resident import Resident
from memsidecar.services.resident.columns import NO_ROW
from tests.doubles.exact_vectors import ExactVectors
from tests.doubles.histories import (
    DIMENSIONS,
    HISTORIES,
    IDS,
    MODEL,
    NAMES,
    PARTITION,
    SESSIONS,
    Command,
    decided,
    new_ids,
)
from tests.doubles.naive_partition import NaivePartition


def empty() -> Resident:
    return Resident(PARTITION, ProtobufEventCodec(), ExactVectors(DIMENSIONS), MODEL)


def lived(history: Sequence[Command]) -> tuple[Resident, NaivePartition, list[Event]]:
    """A resident that decided and applied a history, the definition of its state, and the events."""
    resident, naive, ids = empty(), NaivePartition(), new_ids()
    events: list[Event] = []
    for now, command in enumerate(history):
        for event in decided(resident, command, now, ids).events:
            resident.apply(apply(event))
            naive.apply(event)
            events.append(event)
    return resident, naive, events


def restored(resident: Resident) -> Resident:
    """The resident through a snapshot."""
    other = Resident(PARTITION, ProtobufEventCodec(), resident.vectors, MODEL)
    other.restore({name: array.copy() for name, array in resident.dump().items()}, Head(3, b"x"))
    return other


def check(resident: Resident, naive: NaivePartition) -> None:
    for memory_id in {*IDS, *naive.memories}:
        assert resident.memory(memory_id) == naive.memory(memory_id)
        assert resident.has_vectors(memory_id) == naive.has_vectors(memory_id)
        assert resident.feedback(memory_id) == naive.feedback(memory_id)
        if memory_id in naive.memories:
            usefulness = resident.columns["usefulness"][resident.lookup.rows[memory_id]]
            assert usefulness == np.float32(naive.feedback(memory_id).usefulness)
    for digest in {m.digest for m in naive.memories.values()}:
        assert resident.by_digest(digest) == naive.by_digest(digest)
        assert sorted(resident.holders(digest)) == sorted(naive.holders(digest))
    keys = {entity_key(name) for name in (*NAMES, "Nobody")}
    for key in keys:
        assert resident.entity(key) == naive.entity(key)
        assert sorted(resident.named(key)) == sorted(naive.named(key))
    assert {k: v for k, v in resident.lookup.names().items() if k in keys} == {
        k: i for k in keys if (i := naive.entity(k)) is not None
    }
    for session in SESSIONS:
        assert resident.last_episode(session) == naive.last_episode(session)
        for gone in naive.memories:
            assert resident.last_episode(session, {gone}) == naive.last_episode(session, {gone})
    due = {m.id for m in naive.memories.values() if _is_due(naive, m)}
    assert set(resident.due) == due
    said = {m.body.speaker for m in naive.memories.values() if isinstance(m.body, Episode)} - {""}
    assert resident.speakers() == {entity_key(name): name for name in said}
    check_slots(resident, naive)
    check_indexes(resident, naive)


def check_slots(resident: Resident, naive: NaivePartition) -> None:
    for memory in naive.memories.values():
        assert sorted(resident.read_from(memory.id)) == sorted(naive.read_from(memory.id))
        if isinstance(memory.body, Entity):
            for key in called_keys(memory.body):
                assert set(naive.called(key)) <= set(resident.called(key))
        slot = slot_of(memory)
        if slot is None:
            continue
        place = place_of(memory, slot)
        value = frozenset((place.value,))
        for sought in (
            None,
            Sought(value),
            Sought(words=place.words, negated=not place.negated),
            Sought(value, superseded=False, since=place.begins),
            Sought(words=place.words, since=place.begins, until=place.ends),
        ):
            asked = slot.subject, slot.family, sought
            assert sorted(resident.in_slot(*asked)) == sorted(naive.in_slot(*asked))
    about = {(c.subject, c.attribute) for c in naive.conflicts.values()}
    for subject, attribute in about:
        assert list(resident.conflicts_about(subject, attribute)) == naive.conflicts_about(subject, attribute)


def _is_due(naive: NaivePartition, memory: Memory) -> bool:
    discovered = isinstance(memory.body, Entity) and memory.body.discovered
    return not naive.has_vectors(memory.id) and not discovered and memory.state is not State.DELETED


def check_indexes(resident: Resident, naive: NaivePartition) -> None:
    rows = resident.lookup.rows
    wanted = {rows[m.id]: dict(Counter(tokens(indexed_text(m.body)))) for m in naive.memories.values()}
    assert resident.keywords.terms_by_row() == {row: terms for row, terms in wanted.items() if terms}
    assert sorted(np.flatnonzero(resident.columns["live"]).tolist()) == sorted(rows.values())
    births = [int(resident.columns["birth"][rows[memory_id]]) for memory_id in naive.memories]
    assert births == sorted(births)
    assert resident.vectors.size == len(naive.vectors)
    for memory_id, vectors in naive.vectors.items():
        row = np.array([rows[memory_id]], dtype=np.int32)
        assert resident.vectors.score(vectors.rows[0], row)[0] > 0.9999
    for memory in naive.memories.values():
        previous = int(resident.columns["previous"][rows[memory.id]])
        if previous != NO_ROW:
            assert isinstance(memory.body, Episode)
            assert resident.records.get(previous).id == memory.body.follows
            assert resident.columns["following"][previous] != NO_ROW
    for entity in IDS:
        about = [rows[m.id] for m in naive.memories.values() if _is_about(m, entity)]
        assert resident.lookup.about(entity).tolist() == sorted(about)


def _is_about(memory: Memory, entity: str) -> bool:
    body = memory.body
    named = {*memory.mentions, getattr(body, "subject", ""), getattr(body, "object_entity", "")}
    return entity in named | set(getattr(body, "participants", ())) and entity != memory.id


@settings(max_examples=80, deadline=None)
@given(HISTORIES)
def test_a_resident_answers_as_the_definition(history: list[Command]) -> None:
    resident, naive, _ = lived(history)
    check(resident, naive)


@settings(max_examples=50, deadline=None)
@given(HISTORIES, HISTORIES)
def test_a_snapshot_restores_what_was_there_and_goes_on_as_it_would(a: list[Command], b: list[Command]) -> None:
    resident, naive, _ = lived(a)
    other = restored(resident)
    check(other, naive)
    ids = new_ids()
    for _ in range(100):
        ids()
    for now, command in enumerate(b, 100):
        for event in decided(other, command, now, ids).events:
            other.apply(apply(event))
            naive.apply(event)
    check(other, naive)


@settings(max_examples=50, deadline=None)
@given(HISTORIES)
def test_a_replay_without_the_erased_events_is_the_live_state(history: list[Command]) -> None:
    live, naive, events = lived(history)
    purged: dict[str, int] = {e.memory_id: n for n, e in enumerate(events) if isinstance(e, MemoryPurged)}
    replayed = empty()
    for number, event in enumerate(events):
        if number >= purged.get(subject_of(event), -1):
            replayed.apply(apply(event))
    check(replayed, naive)
    terms = ["wren", "ada", "tea", "白天"]
    for memory_id in naive.memories:
        ours, theirs = live.lookup.rows[memory_id], replayed.lookup.rows[memory_id]
        assert live.keywords.scores(terms, live.rows)[ours] == replayed.keywords.scores(terms, replayed.rows)[theirs]
        assert _neighbours(live, ours) == _neighbours(replayed, theirs)


def _neighbours(resident: Resident, row: int) -> list[str]:
    around = [int(resident.columns[name][row]) for name in ("previous", "following")]
    return [resident.records.get(n).id if n != NO_ROW else "" for n in around]


@settings(max_examples=30, deadline=None)
@given(HISTORIES)
def test_applying_an_event_again_changes_nothing(history: list[Command]) -> None:
    _, naive, events = lived(history)
    resident = empty()
    for event in events:
        resident.apply(apply(event))
        resident.apply(apply(event))
    check(resident, naive)


@settings(max_examples=30, deadline=None)
@given(HISTORIES, st.sampled_from(IDS))
def test_nothing_of_a_purged_memory_stays_in_a_snapshot(history: list[Command], memory_id: str) -> None:
    resident, naive, _ = lived(history)
    known = naive.memory(memory_id)
    if known is None:
        return
    secret = replace(
        known,
        id="secret",
        scope=replace(known.scope, agent="agentsecret", session="sessionsecret"),
        body=Episode("the passwordsecret is", speaker="speakersecret"),
        labels={"labelsecret": "v"},
        version=1,
        state=State.ACTIVE,
        digest=b"0123456789abcdef",
    )
    resident.apply(apply(MemoryRecorded(Change.CREATED, secret)))
    rewritten = replace(secret, body=Episode("another othersecret", speaker="othersecret"), version=2)
    resident.apply(apply(MemoryRecorded(Change.UPDATED, rewritten)))
    resident.apply(apply(MemoryPurged("secret")))
    assert all(b"secret" not in array.tobytes() for array in resident.dump().values())
    check(resident, naive)
