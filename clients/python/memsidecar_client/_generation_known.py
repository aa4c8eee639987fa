"""What the application has of a memory, so that another stream can tell what has changed since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from memsidecar_client._enums import MemoryState
from memsidecar_client._memory_values import Memory
from memsidecar_client._recall_values import Hit
from memsidecar_client.v1.generation_service_pb2 import KnownMemory


@dataclass(frozen=True, slots=True)
class Known:
    """`form` is the memory as the application has it, None when it gave a name only. `superseded` are the names of what
    it knows to be superseded, of the memory itself and what was read from it; None when nobody has said."""

    form: Memory | None = None
    superseded: tuple[str, ...] | None = None


def known_of(memory: str | Hit | Memory) -> tuple[str, Known]:
    """With its name."""
    match memory:
        case Hit(memory=held):
            return held.name, known_of_hit(memory)
        case Memory(name=name):
            return name, Known(memory)
        case _:
            return memory, Known()


def known_of_hit(hit: Hit) -> Known:
    gone = {each.memory: None for each in hit.standings if each.state is MemoryState.SUPERSEDED}
    if hit.memory.state is MemoryState.SUPERSEDED:
        gone[hit.memory.name] = None
    return Known(hit.memory, tuple(gone))


def learned(before: Known, told: KnownMemory) -> Known:
    """What the server takes to be known, where nobody has said."""
    return before if before.superseded is not None else replace(before, superseded=tuple(told.superseded))


def known_to_proto(known: Iterable[tuple[str, Known]]) -> list[KnownMemory]:
    """Those of which somebody has said what is superseded."""
    return [KnownMemory(memory=name, superseded=each.superseded) for name, each in known if each.superseded is not None]
