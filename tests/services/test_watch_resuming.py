"""Whatever happens, and wherever a watch breaks off and goes on: what it tells in all is the partition's history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.errors import InvalidField, NotFound
from memsidecar.domain.events import Entry, MemoryPurged, MemoryRecorded
from memsidecar.domain.feedback import Verdict
from memsidecar.domain.feedback_rules import Judged
from memsidecar.domain.meeting import meets
from memsidecar.domain.memory import Fact, Memory
from memsidecar.domain.recall import NO_FILTER, Filter
from memsidecar.domain.scope import Scope
from memsidecar.services import tail as tail_module
from memsidecar.services.watch import Alive, Behind, Changed, Watched
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import ANN, Stack, stored

WHO = ANN.partition
NO = Request()
_COLOURS = st.sampled_from(["", "red", "blue"])
_IDS = st.integers(0, 4)
_steps = st.one_of(
    st.tuples(st.just("remember"), _IDS, _COLOURS),
    st.tuples(st.just("colour"), _IDS, _COLOURS),
    st.tuples(st.just("delete"), _IDS, _COLOURS),
    st.tuples(st.just("undelete"), _IDS, _COLOURS),
    st.tuples(st.just("purge"), _IDS, _COLOURS),
    st.tuples(st.just("judge"), _IDS, _COLOURS),
    st.tuples(st.just("many"), _IDS, _COLOURS),
    st.tuples(st.just("evict"), _IDS, _COLOURS),
    # The watcher's own: read what is there, read one event, break off and go on.
    st.tuples(st.just("read"), _IDS, _COLOURS),
    st.tuples(st.just("read one"), _IDS, _COLOURS),
    st.tuples(st.just("break off"), _IDS, _COLOURS),
)
_wanted = st.sampled_from(
    [
        (ANN, NO_FILTER),
        (ANN, Filter(labels={"colour": "blue"})),
        (Scope("acme", "ann", "planner"), NO_FILTER),
        (Scope("acme", "ann", "", "s1"), Filter(labels={"colour": "red"})),
    ]
)


class Broken:
    """A watcher that breaks off and goes on after what it saw last. `told` is all that it was told."""

    def __init__(self, stack: Stack, scope: Scope, wanted: Filter) -> None:
        self._stack, self._scope, self._wanted = stack, scope, wanted
        self._watch = stack.watch_with(0.01)
        self._events: AsyncGenerator[Watched, None] | None = None
        self.revision = 0
        self.told: list[Changed] = []

    async def read_one(self) -> None:
        if self._events is None:
            self._events = self._watch(self._scope, self._wanted, self.revision)
            assert isinstance(await self._next(self._events), Alive)
        await self._next(self._events)

    async def read(self) -> None:
        newest = (await self._stack.ledger.head(WHO)).revision
        while self.revision < newest:
            await self.read_one()

    async def break_off(self) -> None:
        if self._events is not None:
            await self._events.aclose()
            self._events = None

    async def _next(self, events: AsyncGenerator[Watched, None]) -> Watched:
        event = await asyncio.wait_for(anext(events), 20)
        assert event.revision >= self.revision
        self.revision = event.revision
        if isinstance(event, Changed):
            self.told.append(event)
        else:
            assert not isinstance(event, Behind) or event.pending > 0
        return event


async def _happen(stack: Stack, ids: list[str], what: str, number: int, colour: str) -> None:
    labels = {"colour": colour} if colour else {}
    memory_id = ids[number % len(ids)] if ids else "none"
    try:
        match what:
            case "remember":
                agent, session = (("planner", ""), ("writer", ""), ("", "s1"), ("", "s2"), ("", ""))[number]
                draft = Draft(Fact(f"fact {len(ids)}"), labels=labels, agent=agent, session=session)
                ids += [memory.id for memory in stored(await stack.remember(ANN, draft))]
            case "colour":
                await stack.memories.update(WHO, memory_id, Patch({"labels": labels}), NO)
            case "delete":
                await stack.memories.delete(WHO, memory_id, "", False, "", NO)
            case "undelete":
                await stack.memories.undelete(WHO, memory_id, NO)
            case "purge":
                await stack.memories.delete(WHO, memory_id, "", True, "", NO)
                ids.remove(memory_id)
            case "judge":
                await stack.judging(ANN, [Judged(memory_id, Verdict.USED, "items[0].memory")], NO)
            case "many":
                await stack.remember(ANN, *(f"one of many {len(ids)} {number} {n}" for n in range(12)))
            case "evict":
                loaded = stack.residency.peek(WHO)
                if loaded is not None:
                    loaded.leaving = True
                    await stack.residency._unload(loaded)
    except (NotFound, InvalidField):
        pass  # of a memory that is not there, or not any more


def _expected(entries: list[Entry], scope: Scope, wanted: Filter) -> list[tuple[int, bool]]:
    """Revisions that are told, by the definition; True for those that may be erased by the time they are read."""
    gone = {entry.subject: entry.revision for entry in entries if isinstance(entry.event, MemoryPurged)}
    versions: dict[str, Memory] = {}
    found = []
    for entry in entries:
        told = isinstance(entry.event, MemoryPurged)
        if isinstance(entry.event, MemoryRecorded):
            around = [versions.get(entry.subject), entry.event.memory]
            told = any(m is not None and meets(m, scope, wanted, entry.recorded_at) for m in around)
            versions[entry.subject] = entry.event.memory
        elif told:
            versions.pop(entry.subject, None)
        found.append((entry.revision if told else 0, entry.revision < gone.get(entry.subject, 0)))
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(_steps, min_size=5, max_size=40), _wanted)
def test_a_watch_in_pieces_tells_the_whole_history(
    steps: list[tuple[str, int, str]], wanted: tuple[Scope, Filter]
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(tail_module, "MOST_ENTRIES", 6)
        asyncio.run(_in_pieces(Path(folder), steps, *wanted))


async def _in_pieces(folder: Path, steps: list[tuple[str, int, str]], scope: Scope, wanted: Filter) -> None:
    stack = await Stack.open(folder, HashEmbedder())
    watcher = Broken(stack, scope, wanted)
    ids: list[str] = []
    for what, number, colour in steps:
        match what:
            case "read":
                await watcher.read()
            case "read one":
                await watcher.read_one()
            case "break off":
                await watcher.break_off()
            case _:
                await _happen(stack, ids, what, number, colour)
    await watcher.read()
    await watcher.break_off()
    assert WHO not in stack.changes._listeners
    published = [entry for entry in stack.published if entry.partition == WHO]
    await stack.close()

    told = [event.revision for event in watcher.told]
    assert told == sorted(set(told))
    expected = _expected(published, scope, wanted)
    must = {revision for revision, may_be_erased in expected if revision and not may_be_erased}
    may = {entry.revision for entry, (_, may_be_erased) in zip(published, expected, strict=True) if may_be_erased}
    assert must <= set(told)
    assert set(told) <= must | may
    by_revision = {entry.revision: entry for entry in published}
    for event in watcher.told:
        known = by_revision[event.revision].event
        if event.entry.event is None:
            assert event.revision in may
        elif isinstance(known, MemoryRecorded):
            assert isinstance(event.entry.event, MemoryRecorded)
            assert (event.entry.event.change, event.entry.event.memory) == (known.change, known.memory)
