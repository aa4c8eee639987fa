"""Deciding on top of undecided events is deciding on the state that they make."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.events import ConflictRecorded, Event, MemoryRecorded, subject_of
from memsidecar.domain.text import entity_key
from memsidecar.domain.view import Overlay, PartitionView
from tests.doubles.histories import COMMANDS, HISTORIES, IDS, NAMES, SESSIONS, Command, decided, new_ids
from tests.doubles.naive_partition import NaivePartition


def _facts(event: Event) -> object:
    if isinstance(event, ConflictRecorded):
        return event
    if isinstance(event, MemoryRecorded):
        brought = None if event.vectors is None else event.vectors.rows.tobytes()
        return event.change, event.memory, brought, event.actor, event.reason
    return type(event), subject_of(event)


def _seen(view: PartitionView, state: NaivePartition) -> object:
    digests = {m.digest for m in state.memories.values()}
    return (
        [(view.memory(i), view.has_vectors(i), view.feedback(i)) for i in IDS],
        [(view.by_digest(d), sorted(view.holders(d))) for d in sorted(digests)],
        [(view.entity(k), sorted(view.named(k))) for k in map(entity_key, NAMES)],
        [view.last_episode(s) for s in SESSIONS],
        [sorted(view.in_slot(i, f)) for i in ("", *IDS) for f in ("lives_in", "owns", "likes")],
        [(i, view.conflict(i), sorted(view.conflicts_of(i))) for i in IDS],
    )


@settings(max_examples=80, deadline=None)
@given(HISTORIES, st.lists(COMMANDS, min_size=2, max_size=8))
def test_a_batch_decides_what_single_commits_decide(history: list[Command], batch: list[Command]) -> None:
    under, single = NaivePartition(), NaivePartition()
    ids, single_ids = new_ids(), new_ids()
    for now, command in enumerate(history):
        for event in decided(under, command, now, ids).events:
            under.apply(event)
        for event in decided(single, command, now, single_ids).events:
            single.apply(event)
    overlay = Overlay(under)
    together: list[Event] = []
    for command in batch:
        one_by_one = decided(single, command, 100, single_ids).events
        for event in one_by_one:
            single.apply(event)
        events = decided(overlay, command, 100, ids).events
        assert list(map(_facts, events)) == list(map(_facts, one_by_one))
        for event in events:
            overlay.add(event)
        together += events
        assert _seen(overlay, single) == _seen(single, single)
    for event in together:
        under.apply(event)
    assert under.memories == single.memories
    assert list(under.memories) == list(single.memories)
    assert under.conflicts == single.conflicts
    assert under.verdicts == single.verdicts
    assert under.vectors.keys() == single.vectors.keys()
