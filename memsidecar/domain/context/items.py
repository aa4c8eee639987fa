"""The things that may stand in a context, and what cannot because something else says it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memsidecar.domain.context.values import Omission, Part, Reason
from memsidecar.domain.injection import looks_like_instruction
from memsidecar.domain.memory import Episode, Kind, Memory, Outcome, Procedure, State
from memsidecar.domain.session import Message, ScratchEntry
from memsidecar.domain.text import normalise


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One memory, message or scratch value. `text` is what may be shortened; what else is shown comes from the rest."""

    part: Part
    text: str
    memory: Memory | None = None
    score: float = 0.0
    message: Message | None = None
    entry: ScratchEntry | None = None
    suspicious: bool = False

    @property
    def can_be_cut(self) -> bool:
        """JSON that is cut is no JSON, and a message of the window is whole or not there."""
        return self.entry is None and self.part is not Part.WINDOW


def of_memory(part: Part, memory: Memory, score: float = 0.0) -> Item:
    return Item(part, memory.text, memory, score, suspicious=looks_like_instruction("\n".join(_shown(memory))))


def of_messages(part: Part, messages: Iterable[Message]) -> list[Item]:
    return [Item(part, message.text, message=message) for message in messages]


def of_scratch(entries: Iterable[ScratchEntry]) -> list[Item]:
    return [Item(Part.SCRATCH, entry.value, entry=entry) for entry in entries]


def is_experience(memory: Memory | None) -> bool:
    """Whether an agent can learn from it: how it ended, what was decided, what it taught (X2)."""
    if memory is None or not isinstance(memory.body, Episode):
        return False
    return bool(memory.body.outcome is not Outcome.UNKNOWN or memory.body.decisions or memory.body.lessons)


def part_of(memory: Memory) -> Part:
    return Part.EPISODES if memory.kind in (Kind.EPISODE, Kind.PROCEDURE) else Part.FACTS


class Sorting:
    """Sorts hits into their sections; each content stands once in a context."""

    def __init__(self, profile: Iterable[Memory], window: Iterable[Message]) -> None:
        self._seen_ids = {(memory.scope.partition, memory.id) for memory in profile}
        self._seen = {normalise(memory.text) for memory in profile} | {normalise(m.text) for m in window if m.text}

    def __call__(
        self, hits: Iterable[Item], min_score: float, states: frozenset[State]
    ) -> tuple[dict[Part, list[Item]], list[Omission]]:
        """Those that are wanted by section, best first, and what was left out."""
        items: dict[Part, list[Item]] = {Part.FACTS: [], Part.EPISODES: []}
        omissions: list[Omission] = []
        for item in hits:
            if item.memory is None:
                continue
            reason = self._reason(item.memory, item.score, min_score, states)
            if reason is None:
                items[item.part].append(item)
            else:
                omissions.append(Omission(reason, item.memory, item.score))
        return items, omissions

    def _reason(self, memory: Memory, score: float, min_score: float, states: frozenset[State]) -> Reason | None:
        if score < min_score:
            return Reason.LOW_SCORE
        if memory.state is State.DISPUTED and State.DISPUTED not in states:
            return Reason.DISPUTED
        key, text = (memory.scope.partition, memory.id), normalise(memory.text)
        if key in self._seen_ids or text in self._seen:
            return Reason.DUPLICATE
        self._seen_ids.add(key)
        self._seen.add(text)
        return None


def _shown(memory: Memory) -> tuple[str, ...]:
    match memory.body:
        case Episode(title=title, speaker=speaker, text=text, decisions=decisions, lessons=lessons):
            return (title, speaker, text, *decisions, *lessons)
        case Procedure(title=title, statement=text, steps=steps):
            return (title, text, *steps)
        case _:
            return (memory.text,)
