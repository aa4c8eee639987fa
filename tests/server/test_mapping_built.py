"""Messages of recalled memories are kept, and only as long as the memory itself."""

from __future__ import annotations

import gc
from dataclasses import replace

from memsidecar.domain.memory import Fact, Memory
from memsidecar.domain.scope import Scope
from memsidecar.server.mapping.recall import Built
from memsidecar.v1 import recall_service_pb2 as pb


def filled(built: Built, memory: Memory, now: int) -> pb.Hit:
    return pb.Hit.FromString(built.encoded(memory, now))


def memory(text: str, **more: object) -> Memory:
    return replace(Memory("m", Scope("n", "u"), Fact(text), 1, 1), **more)  # type: ignore[arg-type]


def test_the_second_time_gives_the_same_message() -> None:
    built, known = Built(), memory("likes tea")
    assert filled(built, known, 5) == filled(built, known, 6)


def test_a_new_version_is_another_memory() -> None:
    built = Built()
    old = memory("likes tea")
    filled(built, old, 5)
    assert filled(built, memory("likes coffee", version=2), 5).memory.fact.statement == "likes coffee"


def test_expiry_is_looked_at_each_time() -> None:
    built, known = Built(), memory("until ten", expires_at=10)
    assert filled(built, known, 5).memory.state != filled(built, known, 11).memory.state


def test_it_holds_nothing_of_a_memory_that_is_gone() -> None:
    built, known = Built(), memory("secret")
    filled(built, known, 5)
    del known
    gc.collect()
    assert built.count == 0


def test_what_was_not_recalled_for_longest_makes_room() -> None:
    built = Built(most=2)
    first, second, third = alive = [memory(f"fact {n}") for n in range(3)]
    data = [built.encoded(each, 5) for each in alive[:2]]
    assert built.encoded(first, 5) is data[0]
    built.encoded(third, 5)
    assert built.encoded(first, 5) is data[0]
    assert built.encoded(second, 5) is not data[1]


def test_it_holds_a_bounded_number() -> None:
    built = Built(most=2)
    alive = [memory(f"fact {n}") for n in range(5)]
    for each in alive:
        filled(built, each, 5)
    assert built.count == 2
    assert filled(built, alive[4], 5).memory.fact.statement == "fact 4"


def test_it_holds_no_large_one() -> None:
    built, large = Built(), memory("word " * 2_000)
    assert filled(built, large, 5) == filled(built, large, 6)
    assert built.count == 0
