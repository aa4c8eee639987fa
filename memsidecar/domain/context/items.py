"""The things that may stand in a context, and what cannot because something else says it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from memsidecar.domain.context.values import Omission, Part, Reason
from memsidecar.domain.injection import looks_like_instruction
from memsidecar.domain.memory import Episode, Kind, Memory, Outcome, Procedure, State
from memsidecar.domain.recall import Hit
from memsidecar.domain.session import Message, ScratchEntry
from memsidecar.domain.text import normalise

# Characters of a text that is made comparable: nobody says more than that twice in other spellings.
_NORMALISED = 16_000
# Of what a turn says, so much is marked, and so much of it quoted: the turn itself follows.
MOST_STANDINGS = 4
LONGEST_STATEMENT = 200


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
    same: str = ""
    """Equal for memories that say the same."""
    disputed: tuple[str, ...] = ()
    """What of it is said otherwise elsewhere, too; empty strings for the memory as it stands."""
    outdated: tuple[str, ...] = ()
    """What it says that no longer holds."""
    counterparts: frozenset[str] = frozenset()
    """Ids of the memories that say otherwise."""

    @property
    def can_be_cut(self) -> bool:
        """JSON that is cut is no JSON, and a message of the window is whole or not there."""
        return self.entry is None and self.part is not Part.WINDOW


def of_memory(part: Part, memory: Memory, score: float = 0.0) -> Item:
    text = memory.text
    return Item(
        part, text, memory, score, None, None, looks_like_instruction("\n".join(_shown(memory))), normalise(text)
    )


def of_hit(hit: Hit) -> Item:
    """A hit with what of it is disputed or no longer holds, each statement once."""
    item = of_memory(part_of(hit.memory), hit.memory, hit.score)
    if not hit.standings:
        return item
    said: dict[State, dict[str, None]] = {State.DISPUTED: {}, State.SUPERSEDED: {}}
    for standing in hit.standings[:MOST_STANDINGS]:
        own = standing.memory_id == hit.memory.id
        said[standing.state]["" if own else standing.text[:LONGEST_STATEMENT]] = None
    return replace(
        item,
        disputed=tuple(said[State.DISPUTED]),
        outdated=tuple(said[State.SUPERSEDED]),
        counterparts=frozenset(other for standing in hit.standings for other in standing.counterparts),
    )


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
    """Sorts hits into their sections; each content stands once in a context, and what is disputed only beside what says
    otherwise."""

    def __init__(self, profile: Iterable[Item], window: Iterable[Message]) -> None:
        self._seen = {item.same for item in profile} | {_same(message.text) for message in window if message.text}

    def has(self, text: str) -> bool:
        """Whether the context says this already."""
        return _same(text) in self._seen

    def __call__(
        self, hits: Iterable[Item], min_score: float, states: frozenset[State]
    ) -> tuple[dict[Part, list[Item]], list[Omission]]:
        """Those that are wanted by section, best first, and what was left out."""
        items: dict[Part, list[Item]] = {Part.FACTS: [], Part.EPISODES: []}
        omissions: list[Omission] = []
        hits = list(hits)
        there = {item.memory.id for item in hits if item.memory is not None and item.score >= min_score}
        for item in hits:
            if item.score < min_score:
                omissions.append(Omission(Reason.LOW_SCORE, item.memory, item.score))
            elif _is_disputed(item) and State.DISPUTED not in states and item.counterparts.isdisjoint(there):
                omissions.append(Omission(Reason.DISPUTED, item.memory, item.score))
            elif item.same in self._seen:
                omissions.append(Omission(Reason.DUPLICATE, item.memory, item.score))
            else:
                self._seen.add(item.same)
                items[item.part].append(item)
        return items, omissions


def _same(text: str) -> str:
    """Equal for texts that say the same; long ones are compared as they are, which costs nothing."""
    return normalise(text) if len(text) <= _NORMALISED else text


def _is_disputed(item: Item) -> bool:
    return item.memory is not None and item.memory.state is State.DISPUTED


def _shown(memory: Memory) -> tuple[str, ...]:
    match memory.body:
        case Episode(title=title, speaker=speaker, text=text, decisions=decisions, lessons=lessons):
            return (title, speaker, text, *decisions, *lessons)
        case Procedure(title=title, statement=text, steps=steps):
            return (title, text, *steps)
        case _:
            return (memory.text,)
