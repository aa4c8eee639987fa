from __future__ import annotations

import pytest

from memsidecar.domain.events import MemoryPurged, MemoryRecorded, VectorsRecorded
from memsidecar.domain.fold import Delta, Edge, Relation, apply, edges_of
from memsidecar.domain.identity import digest_of
from memsidecar.domain.indexed_text import date_words, embedded_text, indexed_text
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Memory, Preference, Procedure, Provenance, State
from memsidecar.domain.scope import Scope
from tests.doubles.histories import vectors_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Episode("Hello  There"), Episode("hello there\n")),
        (Episode("a", start_time=1), Episode("a", start_time=2)),
        (Entity("Wren 🕯️"), Entity("wren", summary="a cat")),
        (Fact("ＡＢＣ"), Fact("abc")),
    ],
)
def test_what_a_reader_calls_the_same_is_the_same(one: Body, other: Body) -> None:
    assert digest_of(one, "") == digest_of(other, "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Episode("a", speaker="x"), Episode("a", speaker="y")),
        (Episode("a", title="b"), Episode("b", title="a")),
        (Episode("a"), Fact("a")),
        (Fact("a", object_text="x"), Fact("a", object_entity="x")),
        (Fact("a", subject="bc", predicate="d"), Fact("a", subject="b", predicate="cd")),
        (Preference("a", polarity=1.0), Preference("a", polarity=-1.0)),
        (Procedure("a", steps=("b", "c")), Procedure("a", steps=("b c",))),
        (Procedure("a", steps=("b",)), Procedure("a", title="b")),
        (Entity("🙂"), Entity("😀")),
        (Entity("C++"), Entity("C")),
    ],
)
def test_different_contents_differ(one: Body, other: Body) -> None:
    assert digest_of(one, "") != digest_of(other, "")


def test_agents_do_not_share_contents() -> None:
    assert digest_of(Episode("a"), "x") != digest_of(Episode("a"), "y")
    assert digest_of(Fact("s", subject="\x1fb"), "a") != digest_of(Fact("s", subject="b"), "a\x1f")


def test_the_index_sees_date_speaker_and_text_the_embedder_only_the_text() -> None:
    said = Episode("hello", title="Greeting", speaker="Ada", start_time=1_683_504_000_000_000)
    assert indexed_text(said) == "8 May 2023 Ada Greeting hello"
    assert embedded_text(said) == "Greeting. hello"
    assert indexed_text(Entity("Wren", aliases=("W",), summary="a cat")) == "Wren W a cat"
    assert indexed_text(Procedure("Tea", steps=("boil", "pour"))) == "Tea boil pour"


@pytest.mark.parametrize("time", [-(2**62), 2**62, -62_135_596_800_000_001, 253_402_300_800_000_000])
def test_a_time_without_a_calendar_date_has_no_words(time: int) -> None:
    assert date_words(time) == ""


@pytest.mark.parametrize(
    ("time", "words"),
    [(0, "1 January 1970"), (-1, "31 December 1969"), (-62_135_596_800_000_000, "1 January 1")],
)
def test_dates_are_words(time: int, words: str) -> None:
    assert date_words(time) == words
    assert date_words(253_402_300_799_999_999) == "31 December 9999"


def test_edges_are_each_once_and_in_a_stable_order() -> None:
    sources = (Provenance(derived_from=("d", "d")), Provenance(derived_from=("d", "a")))
    memory = Memory(
        "a", Scope("n"), Fact("t", "s", object_entity="o"), 1, 1, mentions=("o", "o", "a"), provenance=sources
    )
    about, mentions, derived = Relation.ABOUT, Relation.MENTIONS, Relation.DERIVED_FROM
    assert edges_of(memory) == (
        Edge("a", about, "s"),
        Edge("a", about, "o"),
        Edge("a", mentions, "o"),
        Edge("a", derived, "d"),
    )
    episode = Memory("e", Scope("n"), Episode("t", participants=("p",), follows="b"), 1, 1)
    assert edges_of(episode) == (Edge("e", mentions, "p"), Edge("e", Relation.FOLLOWS, "b"))
    assert edges_of(Memory("p", Scope("n"), Preference("t"), 1, 1)) == ()


def test_every_event_is_one_delta() -> None:
    memory = Memory("a", Scope("n"), Episode("t"), 1, 1)
    vectors = vectors_of(memory.body)
    from_events = [
        apply(MemoryRecorded(1, memory, vectors)),  # type: ignore[arg-type]
        apply(VectorsRecorded("a", vectors)),
        apply(MemoryPurged("a")),
    ]
    expected = [Delta("a", put=memory, vectors=vectors), Delta("a", vectors=vectors), Delta("a", purged=True)]
    for found, wanted in zip(from_events, expected, strict=True):
        assert (found.subject, found.put, found.vectors, found.purged) == (
            wanted.subject,
            wanted.put,
            wanted.vectors,
            wanted.purged,
        )


def test_a_memory_past_its_time_is_seen_as_expired() -> None:
    memory = Memory("a", Scope("n"), Episode("t"), 5, 5, expires_at=10)
    assert [memory.state_at(now) for now in (9, 10, 11)] == [State.ACTIVE, State.EXPIRED, State.EXPIRED]
    assert memory.said_at == 5
    assert Memory("a", Scope("n"), Episode("t", start_time=2), 5, 5, valid_from=3).said_at == 2
