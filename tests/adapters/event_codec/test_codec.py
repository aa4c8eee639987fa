"""The stored format: what goes in comes out, and old bytes stay readable."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.domain.conflict import Before, Conflict, ConflictState, Evidence, Policy, Resolution, Rule
from memsidecar.domain.events import (
    Change,
    ConflictRecorded,
    Event,
    FeedbackGiven,
    MemoryPurged,
    MemoryRecorded,
    Vectors,
    VectorsRecorded,
)
from memsidecar.domain.feedback import Feedback, Verdict
from memsidecar.domain.memory import (
    Entity,
    Episode,
    Fact,
    Memory,
    Outcome,
    Preference,
    Procedure,
    Provenance,
    State,
)
from memsidecar.domain.scope import Partition, Scope
from memsidecar.ports.ledger import VectorRef
from tests.adapters.event_codec.golden_v1 import EVENTS, PARTITION
from tests.contracts.ledger_samples import meaning

CODEC = ProtobufEventCodec()

text = st.text(max_size=12)
texts = st.lists(text, max_size=3).map(tuple)
times = st.integers(-(2**63), 2**63 - 1)
some_time = st.none() | times
numbers = st.floats(allow_nan=False)


def any_of(kind: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(kind, **fields)


bodies = st.one_of(
    any_of(Fact, **(dict.fromkeys(Fact.__slots__, text) | {"negated": st.booleans()})),
    any_of(Preference, statement=text, topic=text, value=text, polarity=numbers, subject=text),
    any_of(Entity, display_name=text, type=text, aliases=texts, summary=text, discovered=st.booleans()),
    any_of(
        Episode,
        text=text,
        title=text,
        speaker=text,
        start_time=some_time,
        end_time=some_time,
        participants=texts,
        outcome=st.sampled_from(Outcome),
        decisions=texts,
        lessons=texts,
        follows=text,
    ),
    any_of(Procedure, statement=text, title=text, steps=texts),
)
sources = any_of(
    Provenance,
    session=text,
    messages=texts,
    derived_from=texts,
    extractor=text,
    document=text,
    agent=text,
    speaker=text,
    time=some_time,
    start=st.integers(0, 2**20),
    end=st.integers(0, 2**20),
)
memories = any_of(
    Memory,
    id=text,
    scope=any_of(Scope, namespace=st.just("acme"), user=st.just("ann"), agent=text, session=text),
    body=bodies,
    created_at=times,
    updated_at=times,
    version=times,
    state=st.sampled_from([state for state in State if state is not State.EXPIRED]),
    **dict.fromkeys(["valid_from", "valid_to", "superseded_at", "deleted_at", "purge_at", "expires_at"], some_time),
    confidence=numbers,
    importance=numbers,
    provenance=st.lists(sources, max_size=2).map(tuple),
    labels=st.dictionaries(text, text, max_size=3),
    attributes=text,
    mentions=texts,
    digest=st.binary(max_size=32),
)
all_vectors = st.builds(
    lambda model, count, dimensions: Vectors(model, np.ones((count, dimensions), dtype=np.float32)),
    text,
    st.integers(1, 3),
    st.integers(1, 4),
)
conflicts = any_of(
    Conflict,
    **dict.fromkeys(["id", "subject", "attribute", "winner", "resolved_by", "reason"], text),
    rule=st.sampled_from(Rule),
    memories=texts,
    created_at=times,
    updated_at=times,
    policy=st.sampled_from(Policy),
    state=st.sampled_from(ConflictState),
    resolution=st.sampled_from(Resolution),
    losers=texts,
    resolved_at=some_time,
    severity=numbers,
    evidence=st.lists(any_of(Evidence, memory_id=text, source_id=text, start=times, end=times), max_size=2).map(tuple),
    before=st.lists(
        any_of(
            Before,
            memory_id=text,
            state=st.sampled_from([state for state in State if state is not State.EXPIRED]),
            updated_at=times,
            **dict.fromkeys(["valid_from", "valid_to", "superseded_at"], some_time),
        ),
        max_size=2,
    ).map(tuple),
    version=times,
    opened=st.booleans(),
)
events = st.one_of(
    any_of(ConflictRecorded, conflict=conflicts, actor=text, reason=text),
    any_of(
        MemoryRecorded,
        change=st.sampled_from(Change),
        memory=memories,
        vectors=st.none() | all_vectors,
        actor=text,
        reason=text,
    ),
    any_of(VectorsRecorded, memory_id=text, vectors=all_vectors),
    any_of(MemoryPurged, memory_id=text, actor=text, reason=text),
    any_of(
        FeedbackGiven,
        memory_id=text,
        verdict=st.sampled_from(Verdict),
        counts=any_of(Feedback, **dict.fromkeys(["used", "ignored", "wrong"], st.integers(0, 2**63 - 1))),
        actor=text,
    ),
)
PLACE = Partition("acme", "ann")


@given(conflicts)
def test_a_conflict_alone_comes_back_as_it_went_in(conflict: Conflict) -> None:
    assert CODEC.decode_conflict(CODEC.encode_conflict(conflict)) == conflict


@settings(max_examples=200, deadline=None)
@given(events)
def test_an_event_comes_back_as_it_went_in(event: Event) -> None:
    payload = CODEC.encode(event)
    back = CODEC.decode(payload, PLACE)

    assert meaning(back) == meaning(event)
    assert CODEC.encode(event) == payload
    brought = getattr(event, "vectors", None)
    ref = CODEC.vector_ref(payload)
    if brought is None:
        assert ref is None
    else:
        sha256 = hashlib.sha256(brought.rows.tobytes()).digest()
        assert ref == VectorRef(brought.model, brought.dimensions, len(brought.rows), sha256)


@settings(max_examples=100, deadline=None)
@given(memories)
def test_a_memory_comes_back_as_it_went_in(memory: Memory) -> None:
    assert CODEC.decode_memory(CODEC.encode_memory(memory), PLACE) == memory


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_bytes_that_are_no_event_are_a_value_error_and_nothing_else(payload: bytes) -> None:
    for decode in (CODEC.decode, CODEC.decode_memory):
        try:
            decode(payload, PLACE)
        except ValueError:
            continue


@pytest.mark.parametrize("payload", [b"", b"\xff", b"\x0a\x00", b"\x7a\x01x"])
def test_what_no_release_has_written_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a|unknown|no known"):
        CODEC.decode(payload, PLACE)


def test_vectors_are_left_out_of_what_is_decoded() -> None:
    vectors = Vectors("model-a", np.ones((2, 3), dtype=np.float32))
    scope = Scope("acme", "ann")
    recorded = MemoryRecorded(Change.CREATED, Memory("m", scope, Fact("x"), 0, 0), vectors)

    decoded = CODEC.decode(CODEC.encode(recorded), PLACE)
    late = CODEC.decode(CODEC.encode(VectorsRecorded("m", vectors)), PLACE)

    assert isinstance(decoded, MemoryRecorded)
    assert decoded.vectors is None
    assert isinstance(late, VectorsRecorded)
    assert (late.vectors.model, late.vectors.rows.shape) == ("model-a", (0, 3))


def test_equal_vectors_have_one_hash_however_they_lie_in_memory() -> None:
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    turned = np.asfortranarray(rows)

    payloads = {CODEC.encode(VectorsRecorded("m", Vectors("a", each))) for each in (rows, turned, rows.astype(">f4"))}

    assert len(payloads) == 1


def test_a_label_order_does_not_change_the_bytes() -> None:
    def labelled(labels: dict[str, str]) -> bytes:
        return CODEC.encode_memory(Memory("m", Scope("acme", "ann"), Fact("x"), 0, 0, labels=labels))

    assert labelled({"a": "1", "b": "2", "c": "3"}) == labelled({"c": "3", "b": "2", "a": "1"})


@pytest.mark.parametrize("name", EVENTS)
def test_bytes_of_format_1_are_read_for_ever(name: str) -> None:
    event, written = EVENTS[name]

    assert meaning(CODEC.decode(written, PARTITION)) == meaning(event)
    assert CODEC.encode(event) == written
