"""Feedback: which recalled memories helped."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Request
from memsidecar.domain.feedback_rules import Judged, give_feedback
from memsidecar.domain.scope import Scope
from memsidecar.services.residency import Residency


class GiveFeedback:
    def __init__(self, residency: Residency) -> None:
        self._residency = residency

    async def __call__(self, scope: Scope, judged: Sequence[Judged], request: Request) -> int:
        """Record the verdicts, all or none; the revision that shows them. They count in the next recall.

        Raises InvalidField, naming each memory that is not there or not in the scope, RequestIdReused, StoreFull,
        StoreUnavailable, LedgerDamaged.
        """

        def command(decision: Decision) -> list[None]:
            give_feedback(decision, scope, judged)
            return []

        return (await self._residency.write(scope.partition, command, request)).revision
