"""What a generation is told of memories: hits with what they cost and what they were read from, and what it knows."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from memsidecar.domain.generation.values import Candidate
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.recall import Hit, Tier
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


def known(statements: Statements, memory: Memory) -> Candidate:
    """What the agent has of a memory, as it is now."""
    state = statements.state(memory)
    seen = replace(memory, state=state) if memory.state is State.SUPERSEDED else memory
    return Candidate(Hit(memory.scope.partition, seen, 0.0, Tier.SESSION, standings=statements.standings(memory)), 0)
