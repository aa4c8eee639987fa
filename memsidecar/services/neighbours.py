"""The graph around a memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from memsidecar.domain import limits
from memsidecar.domain.as_of import AsOf
from memsidecar.domain.conflicts.chain import true_at
from memsidecar.domain.errors import InvalidField, NotFound, StoreUnavailable
from memsidecar.domain.fold import JUDGEMENTS, Edge, Relation
from memsidecar.domain.meeting import USUAL_STATES
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.scope import Partition, resource_name
from memsidecar.ports.graph import GraphStore
from memsidecar.services.moments import Moment, Moments
from memsidecar.services.projector import GraphProjector
from memsidecar.services.resident import Resident
from memsidecar.services.surroundings import Adjacency, GraphSurroundings, Surroundings, is_possible

_log = logging.getLogger(__name__)

# Memories that one walk looks at: what is further away in a partition this dense says nothing of its start.
MOST_REACHED = 10_000
# The graph is usually behind by milliseconds. One that does not catch up within this is done without.
GRAPH_WAIT = 1.0
# Memories decoded before others get a turn.
_AT_ONCE = 32
_OF_A_TIME = USUAL_STATES | {State.SUPERSEDED}


@dataclass(frozen=True, slots=True)
class Near:
    """A memory that was reached, over how many edges, and the last of them."""

    memory: Memory
    depth: int
    source: str
    relation: str
    target: str


@dataclass(frozen=True, slots=True)
class NearPage:
    """`next` continues the walk when passed back as `after`; None at the end."""

    neighbours: tuple[Near, ...]
    next: str | None
    now: int


class Neighbours:
    """Answers from the graph store when that shows every commit before the call, waiting a moment for it; otherwise,
    and for what was known at a time before now, from the records of the resident partition, in turns with others: the
    same answer, in time that grows with the partition (about 50 ms for 1,000 memories)."""

    def __init__(self, moments: Moments, graph: GraphStore, projector: GraphProjector) -> None:
        self._moments, self._graph, self._projector = moments, graph, projector
        # Partitions of the past never change.
        self._past: WeakKeyDictionary[Resident, Adjacency] = WeakKeyDictionary()

    async def __call__(
        self,
        partition: Partition,
        memory_id: str,
        depth: int,
        relations: Collection[str],
        as_of: AsOf,
        after: str,
        limit: int,
    ) -> NearPage:
        """Memories within `depth` (1 to 3) edges, nearest first, then by id; of one partition.

        `relations` empty means all. The walk goes over memories that are active or disputed, with `as_of.valid_at` over
        those that were true then. Over SUPERSEDES and CONTRADICTS, when they are asked for by name, it goes to what is
        not true (any more), too. Raises NotFound for a start that is not there or deleted, InvalidField.
        """
        walk = _Walk(self._moments, partition, as_of, relations)
        place = _place(after)
        moment = await walk.moment()
        start = moment.resident.memory(memory_id)
        if start is None or start.state is State.DELETED:
            raise NotFound(resource_name(partition, "memories", memory_id))
        found = await self._found(walk, moment, memory_id, depth)
        left = [near for near in found if place is None or (near.depth, near.memory_id) > place]
        return await walk.page(left, limit)

    async def _found(self, walk: _Walk, moment: Moment, memory_id: str, depth: int) -> list[_Step]:
        if moment.past:
            adjacency = self._past.get(moment.resident)
            if adjacency is None:
                adjacency = self._past[moment.resident] = await walk.adjacency()
            return await walk.steps(adjacency, memory_id, depth)
        try:
            async with asyncio.timeout(GRAPH_WAIT):
                await self._projector.wait_until_caught_up()
            return await walk.steps(GraphSurroundings(self._graph, walk.partition, MOST_REACHED), memory_id, depth)
        except (StoreUnavailable, TimeoutError) as error:
            _log.warning("neighbours are found without the graph", extra={"problem": str(error) or "it is behind"})
            return await walk.steps(await walk.adjacency(), memory_id, depth)


@dataclass(frozen=True, slots=True)
class _Step:
    memory_id: str
    depth: int
    edge: Edge


class _Walk:
    """One request's walk. What it reads of the partition, it reads anew after each time that others had a turn."""

    def __init__(self, moments: Moments, partition: Partition, as_of: AsOf, relations: Collection[str]) -> None:
        self._moments = moments
        self.partition, self.as_of = partition, as_of
        self._relations = frozenset(map(Relation, relations)) or frozenset(Relation)
        self._judging = self._relations & JUDGEMENTS if relations else frozenset()

    async def moment(self) -> Moment:
        return await self._moments.at(self.partition, self.as_of.known_at)

    async def adjacency(self) -> Adjacency:
        adjacency = Adjacency()
        moment = await self.moment()
        ids = list(moment.resident.lookup.rows)
        for at in range(0, len(ids), _AT_ONCE):
            for memory_id in ids[at : at + _AT_ONCE]:
                memory = moment.resident.memory(memory_id)
                if memory is not None:
                    adjacency.add(memory)
            await asyncio.sleep(0)
            moment = await self.moment()
        for count, conflict in enumerate(moment.resident.conflicts.all()):
            adjacency.judge(conflict)
            if count % 512 == 511:
                await asyncio.sleep(0)
        return adjacency

    async def steps(self, surroundings: Surroundings, start: str, depth: int) -> list[_Step]:
        steps: list[_Step] = []
        seen, frontier = {start}, [start]
        for hop in range(1, depth + 1):
            best: dict[str, Edge] = {}
            moment = await self.moment()
            looked_at = 0
            for reached in await surroundings.around(frontier, self._relations):
                looked_at += 1
                if looked_at % _AT_ONCE == 1:
                    await asyncio.sleep(0)
                    moment = await self.moment()
                known = best.get(reached.memory_id)
                if reached.memory_id in seen or (known is not None and _order(known) <= _order(reached.edge)):
                    continue
                resident = moment.resident
                said = not reached.said_by or self._is_true(resident.memory(reached.said_by), moment.now)
                if (
                    said
                    and self._goes(reached.memory_id, reached.edge, moment)
                    and is_possible(reached.edge, resident.memory)
                ):
                    best[reached.memory_id] = reached.edge
            frontier = sorted(best)[: MOST_REACHED - len(steps)]
            seen.update(frontier)
            steps += (_Step(memory_id, hop, best[memory_id]) for memory_id in frontier)
            if not frontier:
                break
        return steps

    def _goes(self, memory_id: str, edge: Edge, moment: Moment) -> bool:
        memory = moment.resident.memory(memory_id)
        if edge.relation in self._judging:
            return memory is not None and memory.state is not State.DELETED
        return self._is_true(memory, moment.now)

    def _is_true(self, memory: Memory | None, now: int) -> bool:
        if memory is None:
            return False
        if self.as_of.valid_at is None:
            return memory.state_at(now) in USUAL_STATES
        return memory.state_at(now) in _OF_A_TIME and true_at(memory, self.as_of.valid_at)

    async def page(self, steps: Sequence[_Step], limit: int) -> NearPage:
        """The first of the steps, fewer than `limit` where their texts alone fill an answer."""
        near: list[Near] = []
        chars = 0
        moment = await self.moment()
        for count, step in enumerate(steps, 1):
            if count % _AT_ONCE == 0:
                await asyncio.sleep(0)
                moment = await self.moment()
            memory = moment.resident.memory(step.memory_id)
            if memory is None:
                continue
            if len(near) == limit or chars > limits.MAX_PAGE_BYTES:
                last = near[-1]
                return NearPage(tuple(near), f"{last.depth}:{last.memory.id}", moment.now)
            edge = step.edge
            seen = replace(memory, state=memory.state_at(moment.now))
            near.append(Near(seen, step.depth, edge.source, edge.relation.value, edge.target))
            chars += len(memory.text)
        return NearPage(tuple(near), None, moment.now)


def _place(after: str) -> tuple[int, str] | None:
    if not after:
        return None
    depth, colon, memory_id = after.partition(":")
    if not colon or not depth.isdecimal():
        raise InvalidField("page_token", "is not one of this list")
    return int(depth), memory_id


def _order(edge: Edge) -> tuple[str, str, str]:
    return (edge.relation.value, edge.source, edge.target)
