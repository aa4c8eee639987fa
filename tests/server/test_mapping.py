"""Round trips of any memory through its message."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain import limits
from memsidecar.domain.events import Change, Entry, Event, MemoryPurged, MemoryRecorded
from memsidecar.domain.memory import (
    Body,
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
from memsidecar.domain.revision import page_token, page_token_after, parse_page_key, parse_page_token
from memsidecar.domain.scope import Partition, Scope
from memsidecar.server.mapping.memory_in import read_body, read_memory, read_provenance
from memsidecar.server.mapping.memory_out import set_memory, set_revision
from memsidecar.server.mapping.names import References, name_of, read_name
from memsidecar.server.mapping.values import (
    micros,
    read_struct,
    read_value,
    read_vectors,
    set_struct,
    set_time,
    set_value,
    varint,
)
from memsidecar.server.validation import Violations, check
from memsidecar.v1 import memory_pb2 as pb

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda s: not s[0].isspace() and not s[-1].isspace()
)
said = texts.filter(lambda s: bool(s.strip()))
ids = st.text("abcdefghijklmnopqrstuvwxyz0123456789._~-", min_size=1, max_size=12)
refs = st.one_of(st.just(""), ids)
times = st.integers(-62_135_596_800 * 10**6, 253_402_300_800 * 10**6 - 1)
maybe = st.one_of(st.none(), times)
unit = st.floats(0, 1)
lists = st.lists(texts, max_size=3).map(tuple)
id_lists = st.lists(ids, max_size=3, unique=True).map(tuple)
values: st.SearchStrategy[object] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)

facts = st.one_of(
    st.builds(Fact, said, refs, texts, ids),
    st.builds(Fact, said, refs, texts, st.just(""), said),
    st.builds(Fact, said, refs, texts, st.just(""), st.just(""), values.map(json.dumps)),
)
episodes = st.builds(
    Episode, said, texts, words, maybe, maybe, id_lists, st.sampled_from(Outcome), lists, lists, st.just("")
).filter(lambda e: e.start_time is None or e.end_time is None or e.start_time <= e.end_time)
bodies: st.SearchStrategy[Body] = st.one_of(
    facts,
    st.builds(Preference, said, texts, texts, st.floats(-1, 1), refs),
    st.builds(Entity, words, texts, st.lists(words, max_size=3).map(tuple), texts, st.just(False)),
    episodes,
    st.builds(Procedure, said, texts, lists),
)
sources = st.builds(Provenance, words, st.lists(words).map(tuple), id_lists, texts, texts, words, words, maybe)
scopes = st.builds(Scope, words, st.one_of(st.just(""), words), st.one_of(st.just(""), words), words)
labels = st.dictionaries(words, texts, max_size=3)
memories = st.builds(
    Memory,
    id=ids,
    scope=scopes,
    body=bodies,
    created_at=times,
    updated_at=times,
    version=st.integers(1, 10**6),
    state=st.sampled_from([s for s in State if s is not State.EXPIRED]),
    valid_from=maybe,
    superseded_at=maybe,
    deleted_at=maybe,
    purge_at=maybe,
    expires_at=maybe,
    confidence=unit,
    importance=unit,
    provenance=st.lists(sources, max_size=1).map(tuple),
    labels=labels,
    attributes=st.dictionaries(texts, values, min_size=1, max_size=3).map(json.dumps),
    mentions=id_lists,
)


@settings(max_examples=150, deadline=None)
@given(memories, times)
def test_memory_survives_its_message(memory: Memory, now: int) -> None:
    message = pb.Memory()
    set_memory(message, memory, now)
    parsed: Any = pb.Memory.FromString(message.SerializeToString())
    assert parsed == message
    # What went out is fine to send back in.
    assert check(parsed) == []
    violations = Violations()
    draft = read_memory(parsed, "memory", Scope(memory.scope.namespace, memory.scope.user), now, violations)
    assert violations.found == []
    if isinstance(memory.body, Fact) and isinstance(draft.body, Fact) and memory.body.object_value:
        assert json.loads(draft.body.object_value) == json.loads(memory.body.object_value)
    else:
        assert draft.body == memory.body
    assert (draft.agent, draft.session) == (memory.scope.agent, memory.scope.session)
    assert (draft.valid_from, draft.valid_to, draft.expires_at) == (memory.valid_from, None, memory.expires_at)
    assert (draft.confidence, draft.importance) == (memory.confidence, memory.importance)
    assert dict(draft.labels) == dict(memory.labels)
    assert json.loads(draft.attributes) == json.loads(memory.attributes)
    assert draft.mentions == memory.mentions
    assert (draft.source,) == (memory.provenance or (None,))
    for name, time in (("create_time", memory.created_at), ("update_time", memory.updated_at)):
        assert parsed.HasField(name)
        assert micros(getattr(parsed, name)) == time
    for name, unsure in (
        ("supersede_time", memory.superseded_at),
        ("delete_time", memory.deleted_at),
        ("purge_time", memory.purge_at),
    ):
        assert (micros(getattr(parsed, name)) if parsed.HasField(name) else None) == unsure
    assert (parsed.name, parsed.etag) == (name_of(memory.scope.partition, "memories", memory.id), str(memory.version))
    assert parsed.state == memory.state_at(now)


@given(words, st.one_of(st.just(""), words), words)
def test_name_gives_back_its_parts(namespace: str, user: str, resource_id: str) -> None:
    violations = Violations()
    partition = Partition(namespace, user)
    for collection in ("memories", "sessions"):
        name = name_of(partition, collection, resource_id)
        assert read_name(name, collection, "name", violations) == (partition, resource_id)
    assert violations.found == []


@given(times)
def test_time_is_exact_to_the_microsecond(time: int) -> None:
    message = Timestamp()
    set_time(message, time)
    assert micros(message) == time
    assert check(message) == []


@given(values)
def test_json_value_is_the_same_value_again(value: object) -> None:
    message = Value()
    set_value(message, json.dumps(value))
    assert json.loads(read_value(message)) == value


@given(st.binary(max_size=8), st.integers(0, 2**63), texts)
def test_page_token_holds_for_its_arguments_only(arguments: bytes, position: int, key: str) -> None:
    assert parse_page_token(page_token(arguments, position), arguments) == position
    assert parse_page_key(page_token_after(arguments, key), arguments) == key
    assert parse_page_token(page_token(arguments, position), arguments + b"x") is None
    assert parse_page_key(page_token_after(arguments, key), arguments + b"x") is None
    assert parse_page_key(page_token(arguments, position), arguments) is None


@given(texts)
def test_nonsense_is_no_page_token(token: str) -> None:
    assert parse_page_key(token, b"a") is None
    assert parse_page_token(token, b"a") is None


@pytest.mark.parametrize("count", [1, 31, 32, 384, 4096])
@pytest.mark.parametrize("size", [1.0, 1e-30, 1e37])
@pytest.mark.parametrize("model", ["", "use"])
def test_vector_is_read_in_its_order_at_unit_length(count: int, size: float, model: str) -> None:
    given = np.linspace(-1, 2, count, dtype=np.float32) * np.float32(size)
    violations = Violations()
    vectors = read_vectors(pb.Embedding(values=given.tolist(), model=model), "embedding", violations)
    assert vectors is not None
    assert vectors.model == model
    exact = given.astype(np.float64)
    np.testing.assert_allclose(vectors.rows, [exact / np.linalg.norm(exact)], atol=1e-7)
    assert vectors.rows.dtype == np.float32


def test_vector_is_read_from_a_message_with_more_than_this_version_knows() -> None:
    newer = pb.Embedding(values=[3.0, 4.0]).SerializeToString() + bytes((15 << 3, 1))
    vectors = read_vectors(pb.Embedding.FromString(newer), "embedding", Violations())
    assert vectors is not None
    np.testing.assert_allclose(vectors.rows, [[0.6, 0.8]], atol=1e-7)


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [1.0, float("nan")], [float("-inf"), 1.0]])
def test_vector_without_a_direction_is_a_violation(values: list[float]) -> None:
    violations = Violations()
    assert read_vectors(pb.Embedding(values=values), "embedding", violations) is None
    assert [path for path, _ in violations.found] == ["embedding.values"]


@pytest.mark.parametrize("size", [1, 127, 128, 16_383, 16_384, 3_000_000])
def test_length_is_written_as_protobuf_does(size: int) -> None:
    written = Value(string_value="x" * size).SerializeToString()
    tag = bytes((Value.STRING_VALUE_FIELD_NUMBER << 3 | 2,))
    assert written == tag + varint(size) + b"x" * size


def test_deepest_json_survives_in_the_deepest_message() -> None:
    text = '{"a":' * limits.MAX_DEPTH + "1" + "}" * limits.MAX_DEPTH
    struct = Struct()
    set_struct(struct, text)
    from memsidecar.v1.memory_service_pb2 import ListMemoryRevisionsResponse

    response = ListMemoryRevisionsResponse()
    response.revisions.add().snapshot.attributes.CopyFrom(struct)
    parsed = ListMemoryRevisionsResponse.FromString(response.SerializeToString())
    assert read_struct(parsed.revisions[0].snapshot.attributes) == text
    assert check(pb.Memory(attributes=struct, entity=pb.Entity(display_name="x"))) == []
    deeper = Struct()
    set_struct(deeper, '{"a":' + text + "}")
    assert check(pb.Memory(attributes=deeper, entity=pb.Entity(display_name="x"))) == [
        ("attributes", f"is nested more than {limits.MAX_DEPTH} levels deep")
    ]


def test_reading_a_whole_provenance() -> None:
    violations = Violations()
    given_source = pb.Provenance(session="s", messages=["1"], derived_memories=["namespaces/n/memories/x"], agent="a")
    references = References(Partition("n"), violations)
    source = read_provenance(given_source, "p", Scope("n", "", "other", "other"), references)
    assert source == Provenance("s", ("1",), ("x",), "", "", "a")


def test_body_of_each_kind_is_read() -> None:
    violations = Violations()
    message = pb.Memory(entity=pb.Entity(display_name="Ann", aliases=["A"], type="person", summary="s"))
    assert read_body(message, "m", References(Partition("n"), violations)) == Entity("Ann", "person", ("A",), "s")


A_MEMORY = Memory("m", Scope("n", "u"), Episode("x"), 1, 1)


@pytest.mark.parametrize(
    ("event", "change"),
    [
        *((MemoryRecorded(change, A_MEMORY), f"MEMORY_CHANGE_{change.name}") for change in Change),
        (MemoryPurged("m"), "MEMORY_CHANGE_PURGED"),
        (None, "MEMORY_CHANGE_ERASED"),
    ],
)
def test_every_revision_says_what_made_it(event: Event | None, change: str) -> None:
    message = pb.MemoryRevision()
    set_revision(message, Entry(1, Partition("n", "u"), 1, 1, "m", event), 2)
    assert pb.MemoryChange.Name(message.change) == change
    assert message.HasField("snapshot") is isinstance(event, MemoryRecorded)
