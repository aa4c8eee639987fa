"""A conflict fits an answer, however many memories take part and however long they are."""

from __future__ import annotations

from memsidecar.domain import limits
from memsidecar.domain.conflict import Conflict, Evidence, Rule
from memsidecar.domain.conflicts.shown import Shown
from memsidecar.domain.memory import Episode, Fact, Memory
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.usage import NO_USAGE
from memsidecar.server.mapping.conflict_out import set_conflict, set_memories
from memsidecar.v1 import conflict_pb2
from memsidecar.v1 import knowledge_service_pb2 as pb

HOME = Partition("home", "ann" * 80)
NOW = 1_700_000_000_000_000


def memory(number: int, text: str, agent: str = "") -> Memory:
    return Memory(f"m{number:032}", Scope(HOME.namespace, HOME.user, agent), Fact(text), NOW, NOW)


def conflict(memories: list[Memory], *evidence: Evidence) -> Shown:
    ids = tuple(each.id for each in memories)
    found = Conflict("c1", "", "lives_in", Rule.VALUE, ids, NOW, NOW, evidence=evidence)
    return Shown(found, {each.id: each for each in memories})


def test_thousands_of_memories_take_part() -> None:
    memories = [memory(number, "北京" * 1_000) for number in range(4_000)]
    shown = conflict(memories, *(Evidence(each.id, each.id) for each in memories))
    response = pb.GetConflictResponse()
    set_conflict(response.conflict, shown, HOME)
    assert len(response.conflict.memories) == 4_000
    assert response.conflict.evidence[-1].quote == "北京" * 499 + "北…"
    set_memories(response.memories, memories, NOW, lambda partition, memory_id: NO_USAGE, response.ByteSize())
    assert response.ByteSize() < limits.MAX_MESSAGE_BYTES
    assert response.memories[0].fact.statement
    assert not response.memories[-1].HasField("fact")
    assert response.memories[-1].etag == "1"


def test_the_words_that_say_it_are_quoted() -> None:
    source = Memory("e1", Scope("home"), Episode("Hi! I live in Rome. Bye!"), NOW, NOW)
    shown = conflict(
        [memory(1, "a", "planner"), memory(2, "b", "planner")],
        Evidence("m1", "e1", 4, 19),
        Evidence("m1", "e1", 100, 900),
        Evidence("m2", "gone"),
    )
    shown = Shown(shown.conflict, {**shown.memories, "e1": source})
    message = conflict_pb2.Conflict()
    set_conflict(message, shown, HOME)
    assert [evidence.quote for evidence in message.evidence] == ["I live in Rome.", "", ""]
    assert (message.scope.namespace, message.scope.agent) == ("home", "planner")
