"""The parts of a resident partition at their edges."""

from __future__ import annotations

import numpy as np
import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.domain.events import Change, MemoryPurged, MemoryRecorded, Vectors, VectorsRecorded
from memsidecar.domain.fold import apply
from memsidecar.domain.memory import Entity, Episode, Memory
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.view import Overlay
from memsidecar.services.resident import Resident, records
from memsidecar.services.resident.columns import Columns, Strings
from memsidecar.services.resident.lookup import Lookup, Postings
from memsidecar.services.resident.records import Records
from tests.doubles.exact_vectors import ExactVectors

PARTITION = Partition("n", "u")
UNIT = np.array([[1.0, 0.0]], dtype=np.float32)


def said(memory_id: str, text: str = "hello there", *, version: int = 1, digest: bytes = b"", at: int = 1) -> Memory:
    scope = Scope("n", "u", session="s\n1\\n")
    return Memory(memory_id, scope, Episode(text, speaker="Ada"), at, at, version=version, digest=digest)


def resident() -> Resident:
    return Resident(PARTITION, ProtobufEventCodec(), ExactVectors(2), "m")


def put(partition: Resident, memory: Memory, vectors: Vectors | None = None) -> None:
    partition.apply(apply(MemoryRecorded(Change.CREATED, memory, vectors)))


def test_large_records_are_not_all_kept_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "DECODED_TEXT_BYTES", 25_000)
    held = Records(PARTITION, ProtobufEventCodec())
    scope = Scope(PARTITION.namespace, PARTITION.user)
    large = [Memory(f"m{n}", scope, Episode(f"{n} " + "word " * 2_000), 1, 1) for n in range(6)]
    for row, memory in enumerate(large):
        held.put(row, memory)
    assert len(held._decoded) == 2
    assert held.nbytes > 6 * 10_000
    assert [held.get(row) for row in range(6)] == large
    for row in range(6):
        held.drop(row)
    assert held.nbytes < 1_000


def test_records_beyond_the_decoded_ones_come_back_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "DECODED", 2)
    held = Records(PARTITION, ProtobufEventCodec())
    memories = [said(f"m{i}") for i in range(5)]
    for row, memory in enumerate(memories):
        held.put(row, memory)
    assert [held.get(row) for row in range(5)] == memories
    held.put(1, said("m1", "new"))
    for row in range(5):
        held.get(row)
    assert held.get(1) == said("m1", "new")


def test_a_dropped_record_is_not_there() -> None:
    held = Records(PARTITION, ProtobufEventCodec())
    held.put(0, said("a"))
    held.drop(0)
    with pytest.raises(KeyError):
        held.get(0)
    other = Records(PARTITION, ProtobufEventCodec())
    other.restore(held.dump())
    with pytest.raises(KeyError):
        other.get(0)


@pytest.mark.parametrize("name", ["a\nb", "a\\nb", "\\", "\0", "李雷", "😀"])
def test_any_interned_string_survives_a_snapshot(name: str) -> None:
    columns = Columns()
    columns.append(Memory("a", Scope("n", agent=name, session=name), Episode("t", speaker=name), 1, 1), 0)
    back = Columns.restore(columns.dump())
    assert back.agents.find(name) == back.sessions.find(name) == back.speakers.find(name) == 1


def test_the_empty_string_is_zero_whatever_was_forgotten() -> None:
    assert Strings(["", "", "x"]).find("") == 0
    assert Strings(["", "", "x"]).number("y") == 3


def test_postings_stay_sorted_and_leave_nothing_behind() -> None:
    postings: Postings[str] = Postings()
    for row in (5, 1, 9, 5, 3):
        postings.insert("k", row)
    assert postings.rows("k").tolist() == [1, 3, 5, 9]
    assert not postings.remove("k", 4)
    for row in (9, 1, 5, 3):
        assert postings.remove("k", row)
    assert not postings
    assert postings.rows("k").tolist() == []


def test_two_digests_with_equal_beginnings_are_told_apart() -> None:
    partition = resident()
    put(partition, said("a", digest=b"12345678aaaaaaaa"))
    put(partition, said("b", digest=b"12345678bbbbbbbb"))
    assert partition.by_digest(b"12345678aaaaaaaa") == "a"
    assert partition.by_digest(b"12345678bbbbbbbb") == "b"
    assert partition.by_digest(b"12345678cccccccc") is None


def test_a_shared_name_goes_to_the_next_when_its_owner_leaves() -> None:
    lookup = Lookup(lambda row: [30, 10, 20][row])
    entities = [Memory(i, Scope("n"), Entity("Wren"), 0, 0) for i in "abc"]
    for row, entity in enumerate(entities):
        lookup.put(row, entity)
    found = []
    for row in (1, 2, 0):
        found.append(lookup.by_name("wren"))
        lookup.drop(row, entities[row])
    assert found == ["b", "c", "a"]
    assert lookup.by_name("wren") is None
    assert lookup.nbytes == 0


def test_vectors_of_another_model_leave_the_memory_due() -> None:
    partition = resident()
    put(partition, said("a"), Vectors("other", UNIT))
    assert list(partition.due) == ["a"]
    partition.apply(apply(VectorsRecorded("a", Vectors("other", UNIT))))
    assert not partition.has_vectors("a")
    partition.apply(apply(VectorsRecorded("a", Vectors("m", UNIT))))
    assert partition.has_vectors("a")
    put(partition, said("a", version=2), Vectors("other", UNIT))
    assert partition.has_vectors("a"), "the text is the same, so its vectors hold"


def test_vectors_of_a_memory_that_is_gone_are_ignored() -> None:
    partition = resident()
    put(partition, said("a"))
    partition.apply(apply(MemoryPurged("a")))
    partition.apply(apply(VectorsRecorded("a", Vectors("m", UNIT))))
    partition.apply(apply(MemoryPurged("a")))
    assert partition.vectors.size == 0
    assert partition.memory("a") is None


def test_a_change_that_leaves_the_embedded_text_alone_keeps_the_vectors() -> None:
    partition = resident()
    memory = Memory("e", Scope("n", "u"), Entity("Wren"), 1, 1)
    put(partition, memory, Vectors("m", UNIT))
    put(partition, Memory("e", Scope("n", "u"), Entity("Wren", aliases=("Troglodytes",)), 1, 2, version=2))
    assert partition.has_vectors("e")
    assert not partition.due
    assert partition.keywords.scores(["troglodyt"], partition.rows).max() > 0


def test_the_newest_episode_that_is_left_is_the_last_one() -> None:
    partition = resident()
    for memory_id in "abcd":
        put(partition, said(memory_id))
    session = said("a").scope.session
    assert partition.last_episode(session, {"c", "d"}) == "b"
    found = []
    for gone in "bdca":
        over = Overlay(partition)
        over.add(MemoryPurged(gone))
        expected = over.last_episode(session)
        partition.apply(apply(MemoryPurged(gone)))
        assert partition.last_episode(session) == expected
        found.append(partition.last_episode(session))
    assert found == ["d", "c", "a", None]


def test_of_equal_contents_the_oldest_that_is_left_is_found() -> None:
    partition = resident()
    for memory_id, at in (("late", 9), ("first", 1), ("second", 2)):
        put(partition, said(memory_id, digest=b"0123456789abcdef", at=at))
    found = []
    for gone in ("first", "late", "second"):
        found.append(partition.by_digest(b"0123456789abcdef"))
        partition.apply(apply(MemoryPurged(gone)))
    assert found == ["first", "second", "second"]
    assert partition.by_digest(b"0123456789abcdef") is None
