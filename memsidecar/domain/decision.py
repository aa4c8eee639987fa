"""A decision on its way: events in order, on top of the state that they are decided on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from memsidecar.domain.draft import Request
from memsidecar.domain.errors import EtagMismatch, NotFound
from memsidecar.domain.events import Event
from memsidecar.domain.job import JobChange
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition, resource_name
from memsidecar.domain.view import Overlay, PartitionView

NewId = Callable[[], str]
T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""A long decision in short steps: between them others may run, but nobody may change what it is decided on."""


def finished(steps: Steps[T]) -> T:
    """What comes of a decision, all of its steps taken at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


@dataclass(slots=True)
class Decision:
    """Events in order, and what becomes of jobs with them. `view` sees the events already."""

    partition: Partition
    view: Overlay
    now: int
    new_id: NewId
    request: Request = field(default_factory=Request)
    events: list[Event] = field(default_factory=list)
    jobs: list[JobChange] = field(default_factory=list)

    @classmethod
    def on(cls, view: PartitionView, partition: Partition, now: int, new_id: NewId, request: Request) -> Decision:
        return cls(partition, Overlay(view), now, new_id, request)

    def record(self, event: Event) -> None:
        self.events.append(event)
        self.view.add(event)

    def name(self, memory_id: str) -> str:
        return resource_name(self.partition, "memories", memory_id)


def etag_of(memory: Memory) -> str:
    return str(memory.version)


def current(decision: Decision, memory_id: str, etag: str) -> Memory:
    """The newest version of a memory. Raises NotFound, and EtagMismatch unless the etag is empty or its own."""
    memory = decision.view.memory(memory_id)
    if memory is None:
        raise NotFound(decision.name(memory_id))
    if etag and etag != etag_of(memory):
        raise EtagMismatch(decision.name(memory_id), etag_of(memory))
    return memory
