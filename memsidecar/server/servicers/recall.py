"""RecallService."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, cast

from memsidecar.domain.recall import Hit, Question, Recalled
from memsidecar.server.mapping.names import read_scope
from memsidecar.server.mapping.recall import once_response, read_question, set_hit, set_report, summary_response
from memsidecar.server.validation import Violations, check
from memsidecar.services.recall import Recall
from memsidecar.v1 import recall_service_pb2 as pb


class RecallServicer:
    def __init__(self, recall: Recall, default_namespace: str, now: Callable[[], int]) -> None:
        self._recall = recall
        self._default_namespace = default_namespace
        self._now = now

    async def RecallOnce(self, request: pb.RecallOnceRequest) -> pb.RecallOnceResponse:  # noqa: N802
        question = self._question(request)
        recalled = await self._recall.once(question)
        return await once_response(recalled, question.scope.partition, self._now())

    async def Recall(self, request: pb.RecallRequest) -> AsyncGenerator[pb.RecallResponse, None]:  # noqa: N802
        question = self._question(request)
        now = self._now()
        # The service promises an iterator with aclose(): closing it is what stops the tiers of a recall nobody reads.
        async with aclosing(cast("AsyncGenerator[Any, None]", self._recall.stream(question))) as events:
            async for event in events:
                match event:
                    case Hit():
                        response = pb.RecallResponse()
                        set_hit(response.hit, event, now)
                        yield response
                    case Recalled():
                        yield summary_response(event, question.scope.partition)
                    case _:
                        response = pb.RecallResponse()
                        set_report(response.tier_report, event)
                        yield response

    def _question(self, request: pb.RecallRequest | pb.RecallOnceRequest) -> Question:
        violations = Violations(check(request))
        violations.raise_any()
        question = read_question(request, read_scope(request.scope, self._default_namespace), violations)
        violations.raise_any()
        return question
