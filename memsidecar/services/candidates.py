"""What a generation is told of memories: hits with what they cost and what they were read from, and what it knows."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from memsidecar.domain.generation.values import Candidate
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.recall import Hit, HitStanding, Tier
from memsidecar.ports.models import Tokenizer
from memsidecar.services.residency import Residency
from memsidecar.services.statements import Statements

# Characters whose tokens are counted on the loop, about half a millisecond; of longer texts they are estimated.
COUNTED = 20_000
CHARS_A_TOKEN = 4
# Of what a memory was read from, and of what was read from it, so many are looked at.
_SOURCES, _READINGS = 4, 8
_HOLDING = (State.ACTIVE, State.DISPUTED)


def found(hit: Hit, residency: Residency, tokenizer: Tokenizer) -> Candidate:
    """A hit of a search that has just ended."""
    memory, loaded = hit.memory, residency.peek(hit.partition)
    tokens = tokenizer.count(memory.text) if len(memory.text) <= COUNTED else len(memory.text) // CHARS_A_TOKEN
    if loaded is None:
        return Candidate(hit, tokens)
    resident = loaded.resident
    sources = tuple(filter(None, map(resident.memory, sources_of(memory)[:_SOURCES])))
    rows = islice(resident.lookup.read_from(memory.id), _READINGS)
    readings = (resident.records.get(row) for row in rows)
    return Candidate(hit, tokens, sources, tuple(each for each in readings if each.state in _HOLDING))


def known(statements: Statements, memory: Memory, told: frozenset[str] | None) -> tuple[Candidate, frozenset[str]]:
    """What the agent has of a memory, and what of it the agent is taken to know as superseded.

    As it is now; `told` is what the agent says that it knows to be superseded, when it says so: anything else of it is
    taken to hold, so that it is taken back.
    """
    state, standings = statements.state(memory), statements.standings(memory)
    if told is not None:
        state = State.ACTIVE if state is State.SUPERSEDED and memory.id not in told else state
        standings = tuple(each for each in standings if _is_known(each, told))
    superseded = frozenset(each.memory_id for each in standings if each.state is State.SUPERSEDED)
    seen = replace(memory, state=state) if memory.state is State.SUPERSEDED else memory
    hit = Hit(memory.scope.partition, seen, 0.0, Tier.SESSION, standings=standings)
    return Candidate(hit, 0), superseded | {memory.id} if state is State.SUPERSEDED else superseded


def _is_known(standing: HitStanding, told: frozenset[str]) -> bool:
    return standing.state is not State.SUPERSEDED or standing.memory_id in told
