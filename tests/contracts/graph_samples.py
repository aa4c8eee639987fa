"""Memories and changes for the graph's tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from memsidecar.domain.conflict import Conflict, ConflictState, Policy, Resolution, Rule
from memsidecar.domain.fold import Delta
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Kind, Memory, Preference, Procedure, Provenance, State
from memsidecar.domain.scope import Partition, Scope
from memsidecar.ports.graph import GraphChange

ALICE = Partition("acme", "alice")

BODIES: dict[Kind, Body] = {
    Kind.FACT: Fact("Alice lives in Oslo", predicate="lives in"),
    Kind.PREFERENCE: Preference("prefers tea 绿茶", topic="drinks", polarity=1.0),
    Kind.ENTITY: Entity("Oslo 🌲", type="place"),
    Kind.EPISODE: Episode("We talked about Oslo", speaker="Alice", start_time=-5),
    Kind.PROCEDURE: Procedure("How to brew", title="brew"),
}


def memory(
    memory_id: str,
    kind: Kind = Kind.FACT,
    mentions: Sequence[str] = (),
    derived_from: Sequence[str] = (),
    version: int = 1,
    state: State = State.ACTIVE,
    partition: Partition = ALICE,
    body: Body | None = None,
) -> Memory:
    provenance = (Provenance(derived_from=tuple(derived_from)),) if derived_from else ()
    return Memory(
        memory_id,
        Scope(partition.namespace, partition.user),
        body or BODIES[kind],
        created_at=1,
        updated_at=version,
        version=version,
        state=state,
        mentions=tuple(mentions),
        provenance=provenance,
    )


def put(position: int, item: Memory) -> GraphChange:
    return GraphChange(position, item.scope.partition, Delta(item.id, put=item))


def purge(position: int, memory_id: str, partition: Partition = ALICE) -> GraphChange:
    return GraphChange(position, partition, Delta(memory_id, purged=True))


def puts(items: Iterable[Memory], first: int = 1) -> list[GraphChange]:
    return [put(position, item) for position, item in enumerate(items, first)]


def conflict(conflict_id: str, *memories: str, version: int = 1, **changes: object) -> Conflict:
    made = Conflict(
        conflict_id, "", "lives_in", Rule.VALUE, memories, created_at=1, updated_at=version, version=version
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # a test's own words


def judge(position: int, item: Conflict, partition: Partition = ALICE) -> GraphChange:
    return GraphChange(position, partition, Delta(item.id, conflict=item))


class Chance:
    """Random changes of partitions: new and known memories, other edges, conflicts in all their states, purges."""

    def __init__(self, random: Random, ids: Sequence[str]) -> None:
        self._random, self._ids = random, ids
        kinds = {memory_id: Kind(number % 5 + 1) for number, memory_id in enumerate(ids)}
        self._kinds = kinds
        self._entities = [i for i in ids if kinds[i] is Kind.ENTITY]
        self._episodes = [i for i in ids if kinds[i] is Kind.EPISODE]
        self._values = [i for i in ids if kinds[i] in (Kind.FACT, Kind.PREFERENCE)]

    def change(self, position: int, partition: Partition) -> GraphChange:
        pick = self._random.random()
        if pick < 0.15:
            return purge(position, self._random.choice(self._ids), partition)
        if pick < 0.4:
            return judge(position, self._conflict(position), partition)
        return put(position, self._memory(position, partition))

    def _memory(self, position: int, partition: Partition) -> Memory:
        chance = self._random
        memory_id = chance.choice(self._ids)
        kind = self._kinds[memory_id]
        entity = ["", *self._entities]
        body: Body | None = None
        if kind is Kind.FACT:
            body = Fact(
                "s", subject=chance.choice(entity), object_entity=chance.choice(entity), negated=position % 2 == 0
            )
        elif kind is Kind.PREFERENCE:
            body = Preference("s", subject=chance.choice(entity))
        made = memory(
            memory_id,
            kind,
            mentions=chance.sample(self._entities, chance.randint(0, 3)),
            version=position,
            state=State(chance.randint(1, 5)),
            partition=partition,
            body=body,
        )
        sources = [Provenance(derived_from=(i,)) for i in chance.sample(self._episodes, chance.choice([0, 0, 1, 2, 3]))]
        if chance.random() < 0.2:
            sources.append(Provenance(derived_from=(chance.choice(self._ids),)))
        start = chance.choice([None, 1, 2])
        superseded_at = chance.choice([None, 0, 1 << 40]) if made.state is State.SUPERSEDED else None
        return replace(made, provenance=tuple(sources), valid_from=start, superseded_at=superseded_at)

    def _conflict(self, position: int) -> Conflict:
        chance = self._random
        memories = chance.sample(self._values, chance.choice([0, 1, 2, 2, 2, 2, 3]))
        if chance.random() < 0.2:
            memories = chance.sample(self._entities, 2)
        state = chance.choice([ConflictState.OPEN, ConflictState.RESOLVED, *ConflictState])
        changes: dict[str, object] = {"state": state, "rule": chance.choice(list(Rule)), "policy": Policy.FLAG}
        if state is ConflictState.RESOLVED:
            changes |= {"resolved_at": position, "resolution": chance.choice(list(Resolution))}
            if memories and changes["resolution"] is not Resolution.KEPT_BOTH:
                changes |= {"winner": memories[-1], "losers": tuple(memories[:-1])}
        return conflict(f"k{chance.randrange(5)}", *memories, version=position, **changes)
