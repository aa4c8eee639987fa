"""One followed generation and what it was promised, checked with each event, and against what is stored."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterable

from memsidecar_client import (
    AsyncGeneration,
    GenerationEvent,
    GenerationSummary,
    Hit,
    Memory,
    MemoryState,
    NotFound,
    Recalled,
    Resumed,
    Retracted,
    RetractionReason,
    Watermark,
)

from tests.soak.worker import Soak, is_of

# From the moment that somebody has read that a memory has changed, with the process there all the time.
RETRACT_SECONDS = 10.0
# Memories that one check reads.
READ = 16
_OVER = (MemoryState.DELETED, MemoryState.SUPERSEDED, MemoryState.EXPIRED)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORDS = re.compile(r"[a-z]{3,}|\d+|[\u4e00-\u9fff]")


class Followed:
    """Keeps a book of its own of what was sent and taken back. `generation` is set by who opens it."""

    def __init__(self, soak: Soak, user: str, prompt: str, known: Iterable[Memory]) -> None:
        self.generation: AsyncGeneration
        self.held: dict[str, Memory] = {}
        self.recalled = self.retracted = self.resumed = 0
        self._soak, self._user, self._prompt = soak, user, prompt
        self._known = {memory.name: memory for memory in known}
        # Of the known ones those that held after the beginning: what has changed before it is not told.
        self._begun_with: set[str] | None = None
        self._gone: set[str] = set()
        self._taken_back: list[tuple[Retracted, Memory]] = []
        self._text, self._before = "", [""]
        self._most_seq = 0

    async def feed(self, text: str) -> None:
        self._text += text
        await self.generation.feed(text)

    async def rewind(self, dice: random.Random) -> None:
        self._before.append(self._text)
        self._most_seq = max(self._most_seq, self.generation.seq)
        if dice.random() < 0.5:
            await self.generation.rewind(dice.randint(0, self.generation.seq))
        else:
            await self.generation.rewind_to(dice.randint(0, len(self._text)))
        self._text = self._text[: self.generation.length]

    def note(self, event: GenerationEvent) -> None:
        """An event in its turn, each once."""
        self._most_seq = max(self._most_seq, self.generation.seq)
        match event:
            case Recalled():
                self.recalled += 1
                self._note_recalled(event)
            case Retracted():
                self.retracted += 1
                self._note_retracted(event)
            case Watermark(seq=seq):
                last = self.generation.seq
                self._expect(0 <= seq <= last, f"a watermark of {seq}, {last} is the last piece")
            case Resumed():
                self.resumed += 1

    def drain(self) -> None:
        for event in self.generation.new_events():
            self.note(event)
        holding = {hit.memory.name for hit in self.generation.memories}
        self._expect(holding == set(self.held), "the client holds other memories than its events tell")

    async def check(self, dice: random.Random) -> None:
        """To be called after a flush: what is held still holds, and what was taken back does not."""
        self.drain()
        if self._begun_with is None:
            known = list(self._known.items())
            self._begun_with = {name for name, told in known if _holds(told, await self._stored(name))}
        for name, told in dice.sample(list(self._told().items()), min(len(self._told()), READ)):
            if self._told().get(name) is not told or _holds(told, await self._stored(name)):
                continue
            if not await self._taken_back_in_time(name, told):
                self._expect(False, f"{name} has changed and is not taken back")
                return
        looked_up, self._taken_back = self._taken_back[-READ:], []
        for retracted, told in looked_up:
            present = await self._stored(retracted.memory)
            self._expect(not _holds(told, present), f"{retracted.memory} is {retracted.reason} and holds")
            if retracted.reason is RetractionReason.PURGED:
                self._expect(present is None, f"{retracted.memory} is PURGED and there")
            if retracted.reason is RetractionReason.DELETED:
                deleted = present is None or present.state is MemoryState.DELETED
                self._expect(deleted, f"{retracted.memory} is DELETED and there")

    def finished(self, summary: GenerationSummary) -> None:
        self.drain()
        ours = self.recalled, self.retracted
        theirs = summary.recalled, summary.retracted
        self._expect(theirs == ours, f"the summary has {theirs} memories and retractions, the events {ours}")
        self._expect(self.resumed <= summary.resumed, "resumed more often than the summary says")

    def _told(self) -> dict[str, Memory]:
        """What the agent takes to hold."""
        return self.held | {name: told for name, told in self._known.items() if name in (self._begun_with or ())}

    def _note_recalled(self, event: Recalled) -> None:
        memory, (start, end) = event.hit.memory, event.span
        self._expect(is_of(memory.name, self._user), f"{memory.name} was sent")
        twice = memory.name in self.held or memory.name in self._known
        self._expect(not twice, f"{memory.name} was sent twice, or is known")
        self._expect(memory.name not in self._gone, f"{memory.name} was sent after it was taken back for good")
        self._expect(event.trigger_seq <= self._most_seq, f"a memory for {event.trigger_seq} of {self._most_seq}")
        # What was thrown away meanwhile may have brought it up.
        texts = [self._text, *self._before] if event.trigger_seq else [self._prompt]
        within = [text[start:end] for text in texts if 0 <= start < end <= len(text)]
        self._expect(bool(within), f"{start} to {end} is no slice of the text, {event.trigger_seq}")
        # The first sentence is searched for together with what was asked.
        asked = "" if start else self._prompt
        about = _by_association(event.hit) or any(_share(memory.text, f"{asked} {said}") for said in within)
        self._expect(about or not within, f"{memory.text[:80]!r} was found by {start} to {end} of {texts}")
        self.held[memory.name] = memory

    def _note_retracted(self, event: Retracted) -> None:
        told = self.held.pop(event.memory, None) or self._known.pop(event.memory, None)
        self._expect(told is not None, f"{event.memory} was taken back and not held")
        updated = event.reason is RetractionReason.UPDATED
        if not updated:
            self._gone.add(event.memory)
        if event.successor is not None and updated:
            self._expect(event.successor.name == event.memory, f"{event.memory} was updated to another memory")
        if told is not None:
            self._taken_back.append((event, told))

    async def _taken_back_in_time(self, name: str, told: Memory) -> bool:
        """While the process stays."""
        async with self._soak.restarting:
            until = asyncio.get_running_loop().time() + RETRACT_SECONDS
            while self._told().get(name) is told:
                if asyncio.get_running_loop().time() > until:
                    return False
                await asyncio.sleep(0.02)
                self.drain()
        return True

    async def _stored(self, name: str) -> Memory | None:
        async def read() -> Memory | None:
            try:
                return await self._soak.client.get_memory(name)
            except NotFound:
                return None

        return await self._soak.answered(read)

    def _expect(self, holds: bool, promise: str) -> None:
        self._soak.expect(holds, f"generation of {self._user!r}: {promise}")


def _holds(told: Memory, present: Memory | None) -> bool:
    if present is None or present.state in _OVER:
        return False
    said = told.text, told.valid_start_time, told.valid_end_time
    return said == (present.text, present.valid_start_time, present.valid_end_time)


def _by_association(hit: Hit) -> bool:
    """Whether entities lead to it, through other memories: the text need not name any of it."""
    return hit.explanation is not None and bool(hit.explanation.path)


def _share(one: str, other: str) -> bool:
    """Whether they have a word, a number or a Chinese character in common, or are in different languages: the embedder
    finds what means the same there, too, and no word tells."""
    if {bool(_HAN.search(one)), bool(_HAN.search(other))} == {True, False}:
        return True
    return not set(_WORDS.findall(one.lower())).isdisjoint(_WORDS.findall(other.lower()))
