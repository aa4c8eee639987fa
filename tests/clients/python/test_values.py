"""Times, JSON and memories keep what they hold on the way to the wire and back."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf.message import Message as ProtoMessage
from hypothesis import given
from hypothesis import strategies as st
from memsidecar_client import (
    Body,
    Entity,
    Episode,
    EpisodeOutcome,
    Fact,
    Filter,
    Memory,
    MemoryKind,
    MemoryState,
    Preference,
    Procedure,
    Provenance,
    Scope,
    Tier,
    UnknownBody,
)
from memsidecar_client._json_values import from_value, to_value
from memsidecar_client._memory_mapping import filter_to_proto, memory_from_proto, memory_to_proto
from memsidecar_client._times import from_duration, from_timestamp, to_duration, to_timestamp
from memsidecar_client.v1 import memory_pb2

from tests.clients.python.fake_sidecar import made

NOON = datetime(2026, 5, 1, 12, 0, 0, 123457, tzinfo=timezone(timedelta(hours=2)))

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.datetimes(timezones=st.timezones()))
def test_instants_come_back_to_the_microsecond(value: datetime) -> None:
    try:
        value.astimezone(UTC)
    except OverflowError:
        return  # at the very ends of the calendar UTC has no such year
    message = to_timestamp(value)
    assert message is not None
    assert from_timestamp(message) == value.astimezone(UTC)


@given(st.timedeltas(timedelta(days=-3000), timedelta(days=3000)))
def test_spans_come_back_to_the_microsecond(value: timedelta) -> None:
    message = to_duration(value)
    assert message is not None
    if value >= timedelta():
        assert from_duration(message) == value


def test_times_without_a_zone_or_without_a_time_are_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        to_timestamp(datetime(2026, 5, 1))
    with pytest.raises(TypeError, match="aware datetime, got date"):
        to_timestamp(date(2026, 5, 1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="timedelta, got int"):
        to_duration(3)  # type: ignore[arg-type]


@given(json_values)
def test_json_comes_back_as_it_went(value: Any) -> None:
    assert from_value(to_value(value)) == value


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (2**53 + 1, ValueError),
        (float("nan"), ValueError),
        (float("inf"), ValueError),
        (b"x", TypeError),
        ({1}, TypeError),
    ],
)
def test_what_json_cannot_hold_is_refused(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        to_value([value])


BODIES: list[Body] = [
    Fact("Ana lives in Porto", "namespaces/n/memories/ana", "lives_in", object_entity="namespaces/n/memories/porto"),
    Fact("Ana is 40", predicate="age", object_value={"years": 40, "exact": True}),
    Fact("Ana likes tea", predicate="likes", object_text="tea"),
    Preference("Oat milk, please", "coffee", "oat milk", 0.5, "namespaces/n/memories/ana"),
    Entity("Ana", "person", ("Anna", "A."), "A colleague"),
    Episode(
        text="We shipped",
        title="Launch",
        speaker="Ana",
        start_time=NOON,
        end_time=NOON + timedelta(hours=1),
        participants=("namespaces/n/memories/ana",),
        outcome=EpisodeOutcome.PARTIAL,
        decisions=("ship",),
        lessons=("test",),
    ),
    Procedure("How to deploy", "Deploy", ("build", "push")),
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_memory_comes_back_as_it_was_written(body: Body) -> None:
    memory = Memory(
        body=body,
        name="namespaces/n/users/u/memories/m",
        scope=Scope(agent="planner", session="s"),
        valid_start_time=NOON,
        valid_end_time=NOON + timedelta(days=1),
        expire_time=NOON + timedelta(days=2),
        confidence=0.0,
        importance=0.25,
        provenance=(Provenance("s", ("m1",), ("d",), "rules", "doc", "planner", "Ana", NOON),),
        labels={"team": "red"},
        attributes={"n": [1, 2.5, None, {"x": "y"}]},
        mentions=("namespaces/n/memories/ana",),
        etag="7",
    )
    assert memory_from_proto(memory_to_proto(memory)) == memory


def test_unset_numbers_stay_unset() -> None:
    message = memory_to_proto(Fact("x"))
    assert not message.HasField("confidence")
    assert not message.HasField("importance")
    assert not message.HasField("scope")
    assert memory_from_proto(message).confidence is None


def test_output_only_fields_are_not_sent() -> None:
    read = Memory(
        body=Entity("Ana", discovered=True),
        scope=Scope("n", "u", "a", "s"),
        state=MemoryState.DELETED,
        create_time=NOON,
        update_time=NOON,
        supersede_time=NOON,
        delete_time=NOON,
        purge_time=NOON,
        access_count=3,
        last_access_time=NOON,
        usefulness=0.5,
    )
    message = memory_to_proto(read)
    assert {field.name for field, _ in message.ListFields()} == {"scope", "entity"}
    assert (message.scope.namespace, message.scope.user) == ("", "")
    assert not message.entity.discovered
    assert memory_to_proto(Episode("x", follows="y")).episode.follows == ""


def test_the_use_of_a_memory_is_read() -> None:
    message = made(memory_pb2.Memory, access_count=3, usefulness=-0.25, last_access_time={"seconds": 1})
    memory = memory_from_proto(message)
    assert (memory.access_count, memory.usefulness) == (3, -0.25)
    assert memory.last_access_time == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert memory_from_proto(memory_pb2.Memory()).last_access_time is None


def test_contradictions_are_refused() -> None:
    with pytest.raises(ValueError, match="expire_time or a ttl"):
        memory_to_proto(Memory(Fact("x"), expire_time=NOON, ttl=timedelta(1)))
    with pytest.raises(ValueError, match="one of object_entity"):
        memory_to_proto(Fact("x", object_entity="e", object_text="t"))
    with pytest.raises(TypeError, match="int is not the body"):
        memory_to_proto(3)  # type: ignore[arg-type]


def test_kind_of_a_newer_server_is_kept_raw_and_not_written() -> None:
    message = made(memory_pb2.Memory, name="n", etag="1")
    message.MergeFromString(b"\xf2\x06\x03abc")  # field 110, a body that does not exist yet
    memory = memory_from_proto(message)
    assert memory.kind is MemoryKind.UNSPECIFIED
    assert memory.text == ""
    assert isinstance(memory.body, UnknownBody)
    assert memory.body.raw.endswith(b"abc")
    with pytest.raises(ValueError, match="upgrade"):
        memory_to_proto(memory)


def test_number_of_a_newer_server_becomes_a_named_value() -> None:
    message = made(memory_pb2.Memory, fact={"statement": "x"})
    message.MergeFromString(b"\x18\x63")  # state 99
    state = memory_from_proto(message).state
    assert state == 99
    assert str(state) == "UNRECOGNIZED_99"
    assert isinstance(state, MemoryState)
    assert str(Tier.VECTOR) == "VECTOR"
    with pytest.raises(ValueError, match="x"):
        Tier("x")  # type: ignore[arg-type]


def test_filter_carries_every_condition() -> None:
    everything = Filter(
        kinds=(MemoryKind.FACT,),
        states=(MemoryState.DORMANT,),
        entities=("e",),
        labels={"a": "b"},
        min_create_time=NOON,
        max_create_time=NOON,
        min_said_time=NOON,
        max_said_time=NOON,
        min_importance=0.0,
        min_confidence=0.0,
        sessions=("s",),
        exclude_sessions=("t",),
    )
    message: ProtoMessage | None = filter_to_proto(everything)
    assert message is not None
    assert {field.name for field, _ in message.ListFields()} == set(memory_pb2.MemoryFilter.DESCRIPTOR.fields_by_name)
