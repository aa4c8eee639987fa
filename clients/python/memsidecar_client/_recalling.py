"""The calls that recall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from uuid import uuid4

from memsidecar_client._connection import Connected
from memsidecar_client._enums import FeedbackKind, Tier
from memsidecar_client._memory_mapping import scope_to_proto
from memsidecar_client._memory_values import Filter, Vector
from memsidecar_client._recall_mapping import (
    feedback_to_proto,
    hit_from_proto,
    options_to_proto,
    query_to_proto,
    result_from_proto,
)
from memsidecar_client._recall_stream import AsyncRecallStream
from memsidecar_client._recall_values import RecallResult
from memsidecar_client.v1.recall_service_pb2 import FeedbackRequest, RecallOnceRequest, RecallRequest


class RecallCalls(Connected):
    """Part of AsyncMemsidecar."""

    async def recall(
        self,
        query: str = "",
        *,
        embedding: Vector | None = None,
        entities: Iterable[str] = (),
        time: datetime | None = None,
        tiers: Iterable[Tier] = (),
        filter: Filter | None = None,  # noqa: A002 - the word of the contract
        max_hits: int = 0,
        min_score: float = 0.0,
        soft_deadline: timedelta | None = None,
        min_revision: str = "",
        explain: bool = False,
        include_shared: bool = False,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        timeout: float | None = None,
    ) -> RecallResult:
        """What is remembered about the query, best first. Give a text, an embedding or entities (resource names).

        `time` is when the question is asked (default now). `max_hits` 0 takes the server's default. When
        `soft_deadline` runs out the answer holds what is there. `min_revision` is the revision of a write that must be
        seen.
        """
        request = RecallOnceRequest(
            scope=scope_to_proto(self._scope(namespace, user, agent, session)),
            query=query_to_proto(query, embedding, entities, time),
            options=options_to_proto(
                tiers=tiers,
                filter=filter,
                max_hits=max_hits,
                min_score=min_score,
                soft_deadline=soft_deadline,
                min_revision=min_revision,
                include_explanations=explain,
                include_shared=include_shared,
            ),
        )
        response = await self._connection.unary(self._connection.stubs.recall.RecallOnce, request, timeout)
        return result_from_proto(response, map(hit_from_proto, response.hits))

    async def feedback(
        self,
        verdicts: Mapping[str, FeedbackKind],
        *,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> str:
        """Says what was done with recalled memories, by resource name; the revision that shows it.

        Later recalls rank by it, within bounds. All verdicts count, or none: raises InvalidArgument, naming every
        memory that is not there or not in the scope. Shared memory is judged for everybody, with `user=""`.
        """
        request = FeedbackRequest(
            scope=scope_to_proto(self._scope(namespace, user, agent, session)),
            items=feedback_to_proto(verdicts),
            request_id=request_id or str(uuid4()),
        )
        response = await self._connection.unary(self._connection.stubs.recall.Feedback, request, timeout)
        return response.revision.token

    def recall_stream(
        self,
        query: str = "",
        *,
        embedding: Vector | None = None,
        entities: Iterable[str] = (),
        time: datetime | None = None,
        tiers: Iterable[Tier] = (),
        filter: Filter | None = None,  # noqa: A002 - the word of the contract
        max_hits: int = 0,
        min_score: float = 0.0,
        soft_deadline: timedelta | None = None,
        min_revision: str = "",
        explain: bool = False,
        include_shared: bool = False,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        timeout: float | None = None,
    ) -> AsyncRecallStream:
        """The same recall as events: every hit as a tier finds it, every tier's end, then the whole result.

        Use it as a context manager and iterate over it; leaving the block cancels the recall.
        """
        request = RecallRequest(
            scope=scope_to_proto(self._scope(namespace, user, agent, session)),
            query=query_to_proto(query, embedding, entities, time),
            options=options_to_proto(
                tiers=tiers,
                filter=filter,
                max_hits=max_hits,
                min_score=min_score,
                soft_deadline=soft_deadline,
                min_revision=min_revision,
                include_explanations=explain,
                include_shared=include_shared,
            ),
        )
        return AsyncRecallStream(self._connection, request, timeout)
