"""The call that builds a context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from memsidecar_client._connection import Connected
from memsidecar_client._context_mapping import context_from_proto, section_to_proto
from memsidecar_client._context_values import Context, SectionBudget
from memsidecar_client._enums import ContextFormat, Tier
from memsidecar_client._memory_mapping import scope_to_proto
from memsidecar_client._memory_values import Filter, Vector
from memsidecar_client._recall_mapping import options_to_proto, query_to_proto
from memsidecar_client._session_values import Session
from memsidecar_client.v1 import recall_service_pb2


class ContextCalls(Connected):
    """Part of AsyncMemsidecar."""

    async def build_context(
        self,
        query: str = "",
        *,
        conversation: str | Session = "",
        max_tokens: int = 0,
        format: ContextFormat = ContextFormat.UNSPECIFIED,  # noqa: A002 - the word of the contract
        system_prompt: str = "",
        sections: Iterable[SectionBudget] = (),
        citations: bool = False,
        recalled_as_system: bool = False,
        tokenizer: str = "",
        embedding: Vector | None = None,
        entities: Iterable[str] = (),
        time: datetime | None = None,
        tiers: Iterable[Tier] = (),
        filter: Filter | None = None,  # noqa: A002 - the word of the contract
        max_hits: int = 0,
        min_score: float = 0.0,
        soft_deadline: timedelta | None = None,
        min_revision: str = "",
        include_shared: bool = False,
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
    ) -> Context:
        """What a model should read to answer the query, in at most `max_tokens` (0: the server's 4,096).

        `conversation` is the session that is going on, by value or resource name: it supplies summary, scratch and
        window. (`session`, as in recall, narrows to what is remembered of a session.) `system_prompt` comes first,
        unchanged, and counts. `sections` change the shares of the budget. With `citations` each memory has a short
        reference that `Context.citations` resolves. In the messages format recalled text is a user message of its own,
        because what was remembered may be hostile; `recalled_as_system` puts it into the system message. `tokenizer`
        is a model or an encoding. All else is as in recall.
        """
        request = recall_service_pb2.BuildContextRequest(
            scope=scope_to_proto(self._scope(namespace, user, agent, session)),
            query=query_to_proto(query, embedding, entities, time, conversation, time_zone),
            options=options_to_proto(
                tiers=tiers,
                filter=filter,
                max_hits=max_hits,
                min_score=min_score,
                soft_deadline=soft_deadline,
                min_revision=min_revision,
                include_explanations=False,
                include_shared=include_shared,
                valid_at=valid_at,
                known_at=known_at,
                profile=profile,
                weights=weights,
                diversity=diversity,
                adaptive=adaptive,
                only_named_time=only_named_time,
            ),
            max_tokens=max_tokens,
            tokenizer=tokenizer,
            sections=[section_to_proto(section) for section in sections],
            format=recall_service_pb2.ContextFormat.ValueType(format),
            include_citations=citations,
            system_prompt=system_prompt,
            recalled_as_system=recalled_as_system,
        )
        response = await self._connection.unary(self._connection.stubs.recall.BuildContext, request, timeout)
        return context_from_proto(response)
