"""The rule of feedback: whose memories may be judged, and what each verdict records. Pure, as decide.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memsidecar.domain.decision import Decision
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.events import FeedbackGiven
from memsidecar.domain.feedback import Verdict
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class Judged:
    """A memory of the decision's partition and what the agent says of it. `path` is where it stands in the request."""

    memory_id: str
    verdict: Verdict
    path: str


def give_feedback(decision: Decision, scope: Scope, judged: Sequence[Judged]) -> None:
    """Record every verdict, or none: raises InvalidField, naming all memories that are not there or not in the scope.

    A deleted memory may still be judged: it was not deleted when it was recalled, and it may come back.
    """
    problems = []
    for item in judged:
        memory = decision.view.memory(item.memory_id)
        if memory is None:
            problems.append((item.path, f"{decision.name(item.memory_id)} does not exist"))
        elif not _recallable_in(scope, memory):
            problems.append((item.path, "is outside the agent or the session of the request's scope"))
    if problems:
        raise InvalidField(*problems[0], *problems[1:])
    for item in judged:
        counts = decision.view.feedback(item.memory_id).plus(item.verdict)
        decision.record(FeedbackGiven(item.memory_id, item.verdict, counts, decision.request.actor))


def _recallable_in(scope: Scope, memory: Memory) -> bool:
    """Whether a recall in this scope could have returned the memory."""
    of_agent = not scope.agent or memory.scope.agent in ("", scope.agent)
    return of_agent and (not scope.session or memory.scope.session == scope.session)
