"""Long-term memory by name: create, read, list, change, delete, history."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memsidecar.domain import decide, limits, removal
from memsidecar.domain.as_of import NOW, AsOf
from memsidecar.domain.conflict import Policy
from memsidecar.domain.conflicts.chain import true_at
from memsidecar.domain.conflicts.rule_choice import DEFAULT_RULE_CHOICE, RuleChoice
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action, Declined, Draft, Outcome, Patch, Request
from memsidecar.domain.errors import InvalidField, NotFound, SidecarError
from memsidecar.domain.events import Entry, FeedbackGiven, VectorsRecorded
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.limits import MAX_MEMORY_ID_CHARS
from memsidecar.domain.meeting import state_seen
from memsidecar.domain.memory import Memory
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Partition, Scope, resource_name
from memsidecar.ports.ledger import Ledger
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.learning import Learning
from memsidecar.services.moments import Moments
from memsidecar.services.preparing import Prepared, Preparing, Space
from memsidecar.services.recorded import Answer
from memsidecar.services.remember import job_of
from memsidecar.services.rereading import Rereading, TextRead, Unfinished
from memsidecar.services.residency import Residency
from memsidecar.services.resident.filtering import matching
from memsidecar.services.writing import Pause

# Memories decoded for a list before others get a turn, and characters of theirs.
LISTED_AT_ONCE = 32
CHARS_AT_ONCE = 256 * 1024
_MEMORY_ID = re.compile(rf"[A-Za-z0-9._~-]{{1,{MAX_MEMORY_ID_CHARS}}}")


@dataclass(frozen=True, slots=True)
class Written:
    """What a write left; `memory` is None after a purge."""

    memory: Memory | None
    revision: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """`next` continues the list when passed back as `after`; None at the end."""

    memories: tuple[Memory, ...]
    next: int | None


class _ChangedMeanwhile(Exception):
    """The body is not the one that was prepared for."""


class Memories:
    def __init__(
        self,
        residency: Residency,
        ledger: Ledger,
        preparing: Preparing,
        space: Space,
        backlog: EmbeddingBacklog,
        moments: Moments,
        rules: RuleChoice = DEFAULT_RULE_CHOICE,
        learning: Learning | None = None,
        unfinished: Unfinished | None = None,
    ) -> None:
        self._residency, self._ledger, self._moments, self._rules = residency, ledger, moments, rules
        self._learning = learning
        self._rereading = Rereading(residency, preparing, learning, unfinished) if learning is not None else None
        self._preparing, self._space, self._backlog = preparing, space, backlog

    async def create(self, partition: Partition, draft: Draft, memory_id: str, request: Request) -> Written:
        """Store exactly the memory given; what it contradicts is superseded or disputed, as the draft's policy or the
        rules say. Raises AlreadyExists, InvalidField, DimensionMismatch, ConflictRejected."""
        if memory_id and not _MEMORY_ID.fullmatch(memory_id):
            raise InvalidField("memory_id", f"must be 1 to {MAX_MEMORY_ID_CHARS} of a-z, A-Z, 0-9, '.', '_', '~', '-'")
        (found,) = await self._preparing([draft], embed=True)

        def command(decision: Decision) -> list[Outcome]:
            chosen = memory_id or decision.new_id()
            rules = self._rules.of(partition.namespace)
            memory = decide.create(decision, draft, found.mentions, found.vectors, chosen, found.digest, rules)
            return [Outcome(Action.CREATED, memory, "created")]

        return self._written(
            partition, await self._residency.write(partition, command, request, {found.text: found.terms})
        )

    async def get(self, partition: Partition, memory_id: str, as_of: AsOf = NOW) -> Memory:
        """The newest version, also of a deleted memory; of a time before now the newest then. Raises NotFound, also for
        one that was not known or not true at the time."""
        moment = await self._moments.at(partition, as_of.known_at)
        memory = moment.resident.memory(memory_id)
        if memory is None or (as_of.valid_at is not None and not true_at(memory, as_of.valid_at)):
            raise NotFound(resource_name(partition, "memories", memory_id))
        return _seen_at(memory, moment.now, as_of.valid_at)

    async def get_many(self, names: Sequence[tuple[Partition, str]], as_of: AsOf = NOW) -> tuple[Memory, ...]:
        """All of them, in order; NotFound names the first that is missing."""
        return tuple([await self.get(partition, memory_id, as_of) for partition, memory_id in names])

    async def list(
        self,
        scope: Scope,
        wanted: Filter,
        newest_first: bool,
        after: int | None,
        limit: int,
        known_at: int | None = None,
    ) -> MemoryPage:
        """A page in the order of creation, of what was known at `known_at` (None: now). While others write, no memory
        is left out or given twice.

        It ends before `limit` where its texts alone fill an answer (MAX_PAGE_BYTES).
        """
        memories: list[Memory] = []
        chars = 0
        while True:
            # In slices, each of what is there at its moment: decoding a thousand memories takes long.
            count = min(LISTED_AT_ONCE, limit - len(memories))
            part = await self._slice(scope, wanted, newest_first, after, count, known_at)
            memories += part.memories
            chars += sum(len(memory.text) for memory in part.memories)
            if part.next is None or len(memories) >= limit or chars > limits.MAX_PAGE_BYTES:
                return MemoryPage(tuple(memories), part.next)
            after = part.next
            await asyncio.sleep(0)

    async def _slice(
        self, scope: Scope, wanted: Filter, newest_first: bool, after: int | None, limit: int, known_at: int | None
    ) -> MemoryPage:
        """The next memories of a list, up to `limit`, or fewer when their texts are long."""
        moment = await self._moments.at(scope.partition, known_at)
        resident = moment.resident
        mask = matching(resident, scope, wanted, moment.now)
        births: Any = resident.columns["birth"]
        if after is not None:
            mask &= births < after if newest_first else births > after
        rows = np.flatnonzero(mask)
        found = births[rows]
        # One more than asked for, to know whether this is the end.
        chosen = rows[np.argsort(-found if newest_first else found, kind="stable")[: limit + 1]]
        memories: list[Memory] = []
        chars = 0
        for row in chosen[:limit].tolist():
            memories.append(_seen_at(resident.records.get(row), moment.now, wanted.valid_at))
            chars += len(memories[-1].text)
            if chars > CHARS_AT_ONCE:
                break
        last = len(memories) - 1
        return MemoryPage(tuple(memories), int(births[chosen[last]]) if len(chosen) > last + 1 else None)

    async def position(self, partition: Partition, memory_id: str) -> int:
        """Where a list continues after this memory: for a page that ends early."""
        resident = await self._residency.view(partition)
        row = resident.lookup.rows.get(memory_id)
        if row is None:
            raise NotFound(resource_name(partition, "memories", memory_id))
        births: Any = resident.columns["birth"]
        return int(births[row])

    async def update(
        self, partition: Partition, memory_id: str, patch: Patch, request: Request, policy: Policy | None = None
    ) -> Written:
        """Change fields and record a revision; `policy` is for what it contradicts from then on, None the rules'.

        An episode that says something else is read as a remembered one is, in the same transaction: what was read from
        it, and is said by nothing any more, is deleted. Raises NotFound, EtagMismatch, InvalidField, DimensionMismatch,
        ConflictRejected."""
        given = self._space.check(patch.vectors) if patch.vectors is not None else None
        while True:
            known = (await self._residency.view(partition)).memory(memory_id)
            try:
                return await self._update(partition, memory_id, replace(patch, vectors=given), known, request, policy)
            except _ChangedMeanwhile:
                continue  # somebody else's change came first; prepare for the text that it left

    async def _update(
        self,
        partition: Partition,
        memory_id: str,
        patch: Patch,
        known: Memory | None,
        request: Request,
        policy: Policy | None,
    ) -> Written:
        """`update` of the body that is known. Raises _ChangedMeanwhile when it is another one by now."""
        if known is not None and self._learning is not None:
            patch = replace(patch, changes=await self._learning.restated(known.body, patch.changes))
        patch, found, read = await self._found(known, patch, policy)
        rules = self._rules.of(partition.namespace)
        job = job_of(partition, request)

        def command(decision: Decision) -> Iterator[Outcome | Pause]:
            current = decision.view.memory(memory_id)
            if known is not None and current is not None and current.body != known.body:
                raise _ChangedMeanwhile
            names, digest = (None, None) if found is None else (found.mentions, found.digest)
            if read is not None:
                read.name(decision)
            memory = decide.update(decision, memory_id, patch, names, digest, rules, policy)
            extracted: list[Outcome | Declined] = []
            for each in read.learned(decision, current or memory, memory, job, rules) if read is not None else ():
                if isinstance(each, Pause):
                    yield each
                else:
                    extracted.append(each)
            yield Outcome(Action.CREATED, memory, "updated", extracted=tuple(extracted))

        terms = {found.text: found.terms} if found is not None else {}
        terms |= read.terms if read is not None else {}
        written = self._written(partition, await self._residency.write(partition, command, request, terms))
        if read is not None and read.draft.asks and self._rereading is not None:
            await self._rereading.begin(partition, job)
        return written

    async def _found(
        self, known: Memory | None, patch: Patch, policy: Policy | None
    ) -> tuple[Patch, Prepared | None, TextRead | None]:
        """The patch with the vectors of the new body, what is to be found in that, None when it is the old one, and
        what is to be read out of it, None when that is nothing new."""
        if known is None or (body := decide.patched_body(known, patch.changes)) == known.body:
            return patch, None, None
        if self._rereading is not None:
            read = await self._rereading(known, body, patch, policy)
            if read is not None:
                vectors = read.prepared.vectors if embedded_text(body) != embedded_text(known.body) else patch.vectors
                return replace(patch, vectors=vectors), read.prepared, read
        found = await self._preparing.read(body, known.scope.agent)
        if patch.vectors is None and embedded_text(body) != embedded_text(known.body):
            (prepared,) = await self._preparing([Draft(body)], embed=True)
            patch = replace(patch, vectors=prepared.vectors)
        return patch, found, None

    async def delete(
        self, partition: Partition, memory_id: str, etag: str, purge: bool, reason: str, request: Request
    ) -> Written:
        """Soft-delete, or purge: gone from ledger, vectors, keywords and snapshot when this returns, and from the
        graph as soon as it has followed. Raises NotFound, EtagMismatch."""

        def command(decision: Decision) -> list[Outcome | None]:
            if purge:
                removal.purge(decision, memory_id, etag, reason)
                return [None]
            return [Outcome(Action.CREATED, removal.delete(decision, memory_id, etag, reason), "deleted")]

        known = await self._with_readings(partition, memory_id)
        answer = await self._residency.write(partition, command, request)
        if purge:
            await self._forget_bodies(partition, known)
            return Written(None, answer.revision)
        return self._written(partition, answer)

    async def purge_if_due(self, partition: Partition, memory_id: str) -> None:
        """Purge a soft-deleted memory whose time has come; one that was undeleted meanwhile stays. Raises NotFound."""
        known = await self._with_readings(partition, memory_id)

        def command(decision: Decision) -> list[Outcome | None]:
            memory = decision.view.memory(memory_id)
            if memory is None or memory.purge_at is None or memory.purge_at > decision.now:
                raise NotFound(resource_name(partition, "memories", memory_id))
            removal.purge(decision, memory_id, "", "its purge time has come")
            return [None]

        await self._residency.write(partition, command, Request(actor="memsidecar"))
        await self._forget_bodies(partition, known)

    async def _with_readings(self, partition: Partition, memory_id: str) -> tuple[Memory, ...]:
        """The memory and what was read from it: what a purge may take."""
        view = await self._residency.view(partition)
        known = map(view.memory, (memory_id, *view.read_from(memory_id)))
        return tuple(memory for memory in known if memory is not None)

    async def _forget_bodies(self, partition: Partition, memories: Sequence[Memory]) -> None:
        """Forget the vectors that are kept of the texts of those that are gone."""
        view = await self._residency.view(partition)
        for memory in memories:
            if view.memory(memory.id) is None:
                await self._space.forget(memory.body)

    async def undelete(self, partition: Partition, memory_id: str, request: Request) -> Written:
        """Bring a soft-deleted memory back; it may be history by now, or in dispute. Raises NotFound, also after its
        purge, and ConflictRejected."""

        def command(decision: Decision) -> list[Outcome]:
            rules = self._rules.of(partition.namespace)
            return [Outcome(Action.CREATED, removal.undelete(decision, memory_id, rules), "restored")]

        return self._written(partition, await self._residency.write(partition, command, request))

    async def history(self, partition: Partition, memory_id: str, before: int | None, limit: int) -> Sequence[Entry]:
        """What was recorded of a memory, newest first, purges included. Raises NotFound for one never seen.

        Vectors and feedback are no revisions of it. Of a purged one everything is listed: what an erased entry was,
        nobody can tell.
        """
        found: list[Entry] = []
        start = before or 2**62
        while len(found) < limit and (entries := await self._ledger.history(partition, memory_id, start, limit)):
            found += [e for e in entries if not isinstance(e.event, FeedbackGiven | VectorsRecorded)]
            start = entries[-1].revision
        if not found and before is None:
            raise NotFound(resource_name(partition, "memories", memory_id))
        return found[:limit]

    def _written(self, partition: Partition, answer: Answer) -> Written:
        """What a write left of one memory. Raises NotFound when the answer is a repeated one, about a memory that is
        purged since."""
        (result,) = answer.results
        if isinstance(result, SidecarError):
            raise result
        if not isinstance(result, Outcome):
            raise NotFound("a memory stored by this request (purged since)")
        loaded = self._residency.peek(partition)
        if loaded is not None and loaded.resident.due:
            self._backlog.notice(partition)
        return Written(result.memory, answer.revision)


def _seen_at(memory: Memory, now: int, valid_at: int | None) -> Memory:
    """The memory in the state that a question about that time sees."""
    state = state_seen(memory, now, now, valid_at)
    return memory if state is memory.state else replace(memory, state=state)
