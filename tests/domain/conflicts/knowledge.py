"""A partition that commits every command at once, with the ways to say things that these tests share."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import pytest

from memsidecar.domain import decide, entities, removal
from memsidecar.domain.claims import Manner
from memsidecar.domain.conflict import Conflict, ConflictState
from memsidecar.domain.conflicts import resolving, undoing
from memsidecar.domain.conflicts.chain import true_at
from memsidecar.domain.conflicts.resolving import Choice
from memsidecar.domain.conflicts.rules import DEFAULT_RULES, ConflictRules
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Draft, Outcome, Patch, Request
from memsidecar.domain.events import Event
from memsidecar.domain.memory import Body, Entity, Fact, Memory, Preference, Provenance, State
from tests.doubles.histories import PARTITION
from tests.doubles.naive_partition import NaivePartition

Answer = TypeVar("Answer")


class Knowledge:
    """`now` moves on by one with every command, from 1,000."""

    def __init__(self, rules: ConflictRules = DEFAULT_RULES) -> None:
        self.state, self.rules = NaivePartition(), rules
        self.now = 1_000
        self.log: list[Event] = []
        self.events: list[Event] = []
        numbers = count()
        self._ids: Callable[[], str] = lambda: f"g{next(numbers):04}"

    def run(self, command: Callable[[Decision], Answer]) -> Answer:
        self.now += 1
        decision = Decision.on(self.state, PARTITION, self.now, self._ids, Request(actor="test"))
        self.events = decision.events
        result = command(decision)
        for event in decision.events:
            self.state.apply(event)
        self.log += decision.events
        return result

    def remember(self, body: Body, **more: Any) -> Outcome:
        return self.run(lambda d: decide.remember(d, Draft(body, "d", **more), (), None, None, self.rules))

    def says(self, value: str, at: int | None = None, attribute: str = "lives_in", **more: Any) -> Outcome:
        """The user states the value of an attribute. `at` is from when it is true."""
        negated = more.pop("negated", False)
        fact = Fact(
            f"{attribute} {'not ' if negated else ''}{value}",
            subject=more.pop("subject", ""),
            predicate=attribute,
            object_text=value,
            negated=negated,
        )
        return self.remember(fact, valid_from=at, **more)

    def likes(self, topic: str, polarity: float = 1.0, **more: Any) -> Outcome:
        words = "likes" if polarity > 0 else "dislikes"
        return self.remember(Preference(f"{words} {topic}", "likes", topic, polarity), **more)

    def corrects(self, value: str, at: int | None = None, **more: Any) -> Outcome:
        return self.says(value, at, manner=Manner.CORRECTED, **more)

    def entity(self, name: str, *aliases: str) -> str:
        return self.remember(Entity(name, aliases=aliases)).memory.id

    def update(self, memory_id: str, **changes: Any) -> Memory:
        return self.run(lambda d: decide.update(d, memory_id, Patch(changes), None, None, self.rules))

    def delete(self, memory_id: str) -> Memory:
        return self.run(lambda d: removal.delete(d, memory_id, "", ""))

    def undelete(self, memory_id: str) -> Memory:
        return self.run(lambda d: removal.undelete(d, memory_id, self.rules))

    def purge(self, memory_id: str) -> None:
        self.run(lambda d: removal.purge(d, memory_id, "", ""))

    def resolve(self, conflict_id: str, choice: Choice, etag: str = "") -> Conflict:
        return self.run(lambda d: resolving.resolve(d, conflict_id, choice, etag, "because"))

    def undo(self, conflict_id: str, etag: str = "") -> Conflict:
        return self.run(lambda d: undoing.undo(d, conflict_id, etag, "because"))

    def merge(self, target: str, *sources: str) -> entities.Merged:
        return self.run(lambda d: entities.merge(d, target, sources, "because", self.rules))

    def unmerge(self, source: str) -> entities.Merged:
        return self.run(lambda d: entities.unmerge(d, source, "because"))

    def refused(self, command: Callable[[], Any], error: type[Exception]) -> str:
        """What a command that is refused says. It has recorded nothing."""
        with pytest.raises(error) as caught:
            command()
        assert self.events == []
        return str(caught.value)

    def memory(self, of: Outcome | Memory | str) -> Memory:
        """The newest version."""
        return self.state.memories[of if isinstance(of, str) else of.id if isinstance(of, Memory) else of.memory.id]

    def spans(self) -> list[tuple[str, int | None, int | None, str]]:
        """Value, start, end and state of every fact and preference that is not deleted, by start."""
        found = [
            (value_of(m), m.valid_from, m.valid_to, m.state_at(self.now).name)
            for m in self.state.memories.values()
            if isinstance(m.body, (Fact, Preference)) and m.state is not State.DELETED
        ]
        return sorted(found, key=lambda span: (span[1] or 0, span[2] or 10**18))

    def at(self, time: int) -> list[str]:
        """What was true then."""
        return sorted({value_of(m) for m in self.state.memories.values() if is_fact(m) and true_at(m, time)})

    def current(self) -> list[str]:
        """What a reader sees as true."""
        there = self.state.memories.values()
        return sorted(value_of(m) for m in there if is_fact(m) and m.state_at(self.now) is State.ACTIVE)

    def conflicts(self, state: ConflictState | None = None) -> list[Conflict]:
        return [c for c in self.state.conflicts.values() if state in (None, c.state)]


def is_fact(memory: Memory) -> bool:
    return isinstance(memory.body, (Fact, Preference))


def value_of(memory: Memory) -> str:
    match memory.body:
        case Fact(object_text=text, object_entity=entity, negated=negated):
            return f"not {text or entity}" if negated else text or entity
        case Preference(value=value, polarity=polarity):
            return f"not {value}" if polarity < 0 else value
        case _:
            return memory.text


def said(time: int, speaker: str = "") -> Provenance:
    return Provenance(time=time, speaker=speaker)
