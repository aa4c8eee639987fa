"""RecallService."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, cast

from memsidecar.domain.recall import Hit, MessageHit, Question, Recalled
from memsidecar.server.mapping.context import context_response, read_wanted
from memsidecar.server.mapping.memory_out import UsageOf
from memsidecar.server.mapping.names import read_scope
from memsidecar.server.mapping.question import next_page_token, read_feedback, read_question
from memsidecar.server.mapping.recall import (
    once_response,
    set_hit,
    set_message_hit,
    set_report,
    summary_response,
    with_hits,
)
from memsidecar.server.servicers.writes import request_of
from memsidecar.server.tokens import revision_token
from memsidecar.server.validation import Violations, check
from memsidecar.services.context import BuildContext
from memsidecar.services.feedback import GiveFeedback
from memsidecar.services.recall import Recall
from memsidecar.v1 import recall_service_pb2 as pb


class RecallServicer:
    def __init__(
        self,
        recall: Recall,
        build_context: BuildContext,
        give_feedback: GiveFeedback,
        usage_of: UsageOf,
        default_namespace: str,
        now: Callable[[], int],
    ) -> None:
        self._recall, self._build_context = recall, build_context
        self._give_feedback, self._usage_of = give_feedback, usage_of
        self._default_namespace = default_namespace
        self._now = now

    async def RecallOnce(self, request: pb.RecallOnceRequest) -> bytes:  # noqa: N802
        """The bytes of a RecallOnceResponse."""
        question = self._question(request)
        recalled = await self._recall.once(question)
        response = once_response(recalled, question.scope.partition)
        return await with_hits(
            response,
            recalled,
            self._now(),
            self._usage_of,
            lambda hits: next_page_token(request, question.skip + hits),
        )

    async def Recall(self, request: pb.RecallRequest) -> AsyncGenerator[pb.RecallResponse, None]:  # noqa: N802
        question = self._question(request)
        now = self._now()
        # The service promises an iterator with aclose(): closing it is what stops the tiers of a recall nobody reads.
        async with aclosing(cast("AsyncGenerator[Any, None]", self._recall.stream(question))) as events:
            async for event in events:
                match event:
                    case Hit():
                        response = pb.RecallResponse()
                        set_hit(response.hit, event, now, self._usage_of(event.partition, event.memory.id))
                        yield response
                    case MessageHit():
                        response = pb.RecallResponse()
                        set_message_hit(response.message, event)
                        yield response
                    case Recalled():
                        yield summary_response(event, question.scope.partition)
                    case _:
                        response = pb.RecallResponse()
                        set_report(response.tier_report, event)
                        yield response

    async def BuildContext(self, request: pb.BuildContextRequest) -> pb.BuildContextResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        wanted = read_wanted(request, read_scope(request.scope, self._default_namespace), violations)
        violations.raise_any()
        return context_response(await self._build_context(wanted))

    async def Feedback(self, request: pb.FeedbackRequest) -> pb.FeedbackResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        judged = read_feedback(request, scope, violations)
        violations.raise_any()
        revision = await self._give_feedback(scope, judged, request_of(request, scope.agent))
        response = pb.FeedbackResponse()
        response.revision.token = revision_token(scope.partition, revision)
        return response

    def _question(self, request: pb.RecallRequest | pb.RecallOnceRequest) -> Question:
        violations = Violations(check(request))
        violations.raise_any()
        question = read_question(request, read_scope(request.scope, self._default_namespace), violations)
        violations.raise_any()
        return question
