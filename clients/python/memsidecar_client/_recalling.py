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
    message_hit_from_proto,
    options_to_proto,
    query_to_proto,
    result_from_proto,
)
from memsidecar_client._recall_stream import AsyncRecallStream
from memsidecar_client._recall_values import RecallResult
from memsidecar_client._session_values import Session
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
        conversation: str | Session = "",
        time_zone: str = "",
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        profile: str = "",
        weights: Mapping[str, float] | None = None,
        diversity: float | None = None,
        adaptive: bool = False,
        only_named_time: bool = False,
        page_token: str = "",
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

        `conversation` is the session that is going on, by value or resource name: its last turns make "and where is
        that?" searchable, and its messages are looked through. `time_zone` (IANA) is for "last Monday". `valid_at` asks
        what was true then, `known_at` what was known then. `profile` and `weights` choose another ranking; `diversity`
        (0 to 1) spreads the hits; `adaptive` lets the question decide how many there are, up to `max_hits`;
        `only_named_time` leaves out memories of another time than the question names. `page_token` is
        `next_page_token` of the page before, with all else equal.
        """
        request = RecallOnceRequest(
            scope=scope_to_proto(self._scope(namespace, user, agent, session)),
            query=query_to_proto(query, embedding, entities, time, conversation, time_zone),
            options=options_to_proto(
                tiers=tiers,
                filter=filter,
                max_hits=max_hits,
                min_score=min_score,
                soft_deadline=soft_deadline,
                min_revision=min_revision,
                include_explanations=explain,
                include_shared=include_shared,
                valid_at=valid_at,
                known_at=known_at,
                profile=profile,
                weights=weights,
                diversity=diversity,
                adaptive=adaptive,
                only_named_time=only_named_time,
                page_token=page_token,
            ),
        )
        response = await self._connection.unary(self._connection.stubs.recall.RecallOnce, request, timeout)
        return result_from_proto(
            response, map(hit_from_proto, response.hits), map(message_hit_from_proto, response.messages)
        )

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
        conversation: str | Session = "",
        time_zone: str = "",
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        profile: str = "",
        weights: Mapping[str, float] | None = None,
        diversity: float | None = None,
        adaptive: bool = False,
        only_named_time: bool = False,
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
            query=query_to_proto(query, embedding, entities, time, conversation, time_zone),
            options=options_to_proto(
                tiers=tiers,
                filter=filter,
                max_hits=max_hits,
                min_score=min_score,
                soft_deadline=soft_deadline,
                min_revision=min_revision,
                include_explanations=explain,
                include_shared=include_shared,
                valid_at=valid_at,
                known_at=known_at,
                profile=profile,
                weights=weights,
                diversity=diversity,
                adaptive=adaptive,
                only_named_time=only_named_time,
            ),
        )
        return AsyncRecallStream(self._connection, request, timeout)
