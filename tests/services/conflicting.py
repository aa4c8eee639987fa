"""Conflicts for tests: turns with what was read from them, and what was made of it, as a partition records it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memsidecar.domain.conflict import Conflict, ConflictState, Resolution, Rule
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Draft, Request
from memsidecar.domain.events import Change, ConflictRecorded, MemoryRecorded
from memsidecar.domain.memory import Episode, Fact, Memory, Provenance, State
from memsidecar.domain.scope import Scope
from tests.services.stack import ANN, Stack, stored


@dataclass(frozen=True)
class Said:
    """A turn, and the fact that was read from it."""

    turn: Memory
    fact: Memory


async def say(stack: Stack, text: str, statement: str, scope: Scope = ANN, session: str = "s") -> Said:
    episode = Draft(Episode(text, speaker="Ann"), session=session)
    (turn,) = stored(await stack.remember(scope, episode))
    read = Draft(Fact(statement), source=Provenance(derived_from=(turn.id,), extractor="test"))
    (fact,) = stored(await stack.remember(scope, read))
    return Said(turn, fact)


async def write(stack: Stack, command: Callable[[Decision], None], scope: Scope = ANN) -> int:
    """The revision after what a command records."""

    def decided(decision: Decision) -> tuple[()]:
        command(decision)
        return ()

    return (await stack.residency.write(scope.partition, decided, Request())).revision


async def supersede(stack: Stack, old: Memory, new: Memory, at: int | None = None, scope: Scope = ANN) -> str:
    """Settle that `new` holds instead of `old`, now or from a time on; the id of the conflict."""
    made: list[str] = []

    def command(decision: Decision) -> None:
        loser, winner = _present(decision, old), _present(decision, new)
        when = decision.now if at is None else at
        gone = replace(
            loser, state=State.SUPERSEDED, superseded_at=when, version=loser.version + 1, updated_at=decision.now
        )
        decision.record(MemoryRecorded(Change.SUPERSEDED, gone))
        conflict = Conflict(
            decision.new_id(),
            "",
            "lives_in",
            Rule.VALUE,
            (loser.id, winner.id),
            decision.now,
            decision.now,
            state=ConflictState.RESOLVED,
            resolution=Resolution.CHANGED,
            winner=winner.id,
            losers=(loser.id,),
            resolved_at=decision.now,
        )
        made.append(conflict.id)
        decision.record(ConflictRecorded(conflict))

    await write(stack, command, scope)
    return made[0]


async def dispute(stack: Stack, one: Memory, other: Memory, scope: Scope = ANN) -> str:
    """Open a conflict between two memories; its id."""
    made: list[str] = []

    def command(decision: Decision) -> None:
        for memory in (_present(decision, one), _present(decision, other)):
            disputed = replace(memory, state=State.DISPUTED, version=memory.version + 1, updated_at=decision.now)
            decision.record(MemoryRecorded(Change.DISPUTED, disputed))
        conflict = Conflict(
            decision.new_id(), "", "lives_in", Rule.VALUE, (one.id, other.id), decision.now, decision.now
        )
        made.append(conflict.id)
        decision.record(ConflictRecorded(conflict))

    await write(stack, command, scope)
    return made[0]


async def undo(stack: Stack, conflict_id: str, scope: Scope = ANN) -> None:
    """Take a conflict back, its memories active again."""

    def command(decision: Decision) -> None:
        conflict = decision.view.conflict(conflict_id)
        assert conflict is not None
        for memory_id in conflict.memories:
            memory = decision.view.memory(memory_id)
            assert memory is not None
            back = replace(memory, state=State.ACTIVE, superseded_at=None, version=memory.version + 1)
            decision.record(MemoryRecorded(Change.RESTORED, back))
        undone = replace(conflict, state=ConflictState.UNDONE, winner="", losers=(), version=conflict.version + 1)
        decision.record(ConflictRecorded(undone))

    await write(stack, command, scope)


def _present(decision: Decision, memory: Memory) -> Memory:
    found = decision.view.memory(memory.id)
    assert found is not None
    return found
