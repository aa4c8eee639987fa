"""The calls that remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID, uuid4, uuid5

from memsidecar_client._connection import Connected
from memsidecar_client._defaults import NO_LABELS
from memsidecar_client._enums import ConflictPolicy, WriteWait
from memsidecar_client._memory_mapping import scope_to_proto
from memsidecar_client._memory_values import Body, Memory, Provenance, Vector
from memsidecar_client._remember_mapping import (
    all_stages,
    batches,
    item_result_from_proto,
    item_to_proto,
    options_to_proto,
    remembered_from_proto,
    stages_from_proto,
)
from memsidecar_client._remember_stream import AsyncRememberStream
from memsidecar_client._remember_values import (
    Conversation,
    ConversationTurn,
    Item,
    ItemResult,
    Rememberable,
    Remembered,
    RememberedMany,
    WriteStages,
)
from memsidecar_client.v1.memory_service_pb2 import BatchRememberRequest, RememberRequest, StreamRememberStart


class RememberCalls(Connected):
    """Part of AsyncMemsidecar."""

    async def remember(
        self,
        what: str | Body | Memory | Conversation,
        *,
        speaker: str = "",
        time: datetime | None = None,
        entities: Iterable[str] = (),
        embedding: Vector | None = None,
        provenance: Provenance | None = None,
        labels: Mapping[str, str] = NO_LABELS,
        wait: WriteWait = WriteWait.UNSPECIFIED,
        conflict_policy: ConflictPolicy = ConflictPolicy.UNSPECIFIED,
        skip_extraction: bool = False,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Remembered:
        """Stores a text or a typed memory after deduplication, and says what became of it and of what was read out of
        it: facts and preferences of the user, unless `skip_extraction`.

        `speaker` and `time` say who said the text and when (default now); `entities` are names as a person would write
        them. `labels` go to every memory created. Returns once the memory can be recalled, or, with
        `wait=WriteWait.DURABLE`, once it survives a crash. Repeating a call with its `request_id` gives the first
        answer. `conflict_policy` says what becomes of what it contradicts. With REJECT a typed memory that contradicts
        raises FailedPrecondition; a text is stored, and what was read out of it and refused is in `declined`.
        """
        response = await self._connection.unary(
            self._connection.stubs.memories.Remember,
            RememberRequest(
                scope=scope_to_proto(self._scope(namespace, user, agent, session)),
                item=item_to_proto(Item(what, speaker, time, entities, embedding, provenance)),
                options=options_to_proto(wait, labels, conflict_policy, skip_extraction),
                request_id=request_id or str(uuid4()),
            ),
            timeout,
        )
        return remembered_from_proto(response)

    async def remember_conversation(
        self,
        turns: Iterable[ConversationTurn],
        *,
        time: datetime | None = None,
        entities: Iterable[str] = (),
        provenance: Provenance | None = None,
        labels: Mapping[str, str] = NO_LABELS,
        wait: WriteWait = WriteWait.UNSPECIFIED,
        conflict_policy: ConflictPolicy = ConflictPolicy.UNSPECIFIED,
        skip_extraction: bool = False,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Remembered:
        """Stores 1 to 256 turns that were said in a row, each as an episode, and what the user's side says in them.

        `time` is for turns without their own; `entities` and `provenance` are those of every turn. All else is as in
        `remember`.
        """
        item = Item(Conversation(tuple(turns)), time=time, entities=entities, provenance=provenance)
        response = await self._connection.unary(
            self._connection.stubs.memories.Remember,
            RememberRequest(
                scope=scope_to_proto(self._scope(namespace, user, agent, session)),
                item=item_to_proto(item),
                options=options_to_proto(wait, labels, conflict_policy, skip_extraction),
                request_id=request_id or str(uuid4()),
            ),
            timeout,
        )
        return remembered_from_proto(response)

    async def remember_many(
        self,
        items: Iterable[Rememberable],
        *,
        labels: Mapping[str, str] = NO_LABELS,
        wait: WriteWait = WriteWait.UNSPECIFIED,
        conflict_policy: ConflictPolicy = ConflictPolicy.UNSPECIFIED,
        skip_extraction: bool = False,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> RememberedMany:
        """Remembers the items in order and gives one result each, an item's own error included.

        Sends as many calls as the items need, each with the timeout. When a call fails as a whole its error is raised
        and what went before stays stored; repeating everything with the same `request_id` (a UUID) stores nothing
        twice.
        """
        first_id = UUID(request_id) if request_id else uuid4()
        scope = scope_to_proto(self._scope(namespace, user, agent, session))
        options = options_to_proto(wait, labels, conflict_policy, skip_extraction)
        results: list[ItemResult] = []
        stages: list[WriteStages] = []
        revision, sent = "", 0
        for batch in batches(items):
            # Derived, so that a repeated remember_many repeats the ids of all its calls.
            batch_id = first_id if sent == 0 else uuid5(first_id, str(sent))
            request = BatchRememberRequest(scope=scope, items=batch, options=options, request_id=str(batch_id))
            response = await self._connection.unary(self._connection.stubs.memories.BatchRemember, request, timeout)
            results += [item_result_from_proto(result, sent) for result in response.results]
            if response.HasField("stages"):
                stages.append(stages_from_proto(response.stages))
            revision, sent = response.revision.token, sent + len(batch)
        return RememberedMany(tuple(results), revision, all_stages(stages))

    def remember_stream(
        self,
        *,
        labels: Mapping[str, str] = NO_LABELS,
        wait: WriteWait = WriteWait.UNSPECIFIED,
        conflict_policy: ConflictPolicy = ConflictPolicy.UNSPECIFIED,
        skip_extraction: bool = False,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> AsyncRememberStream:
        """A stream to send items into, for a source of any length; use it as a context manager.

        Has no deadline unless `timeout` gives one for the whole stream.
        """
        start = StreamRememberStart(
            scope=scope_to_proto(self._scope(namespace, user, agent, session)),
            options=options_to_proto(wait, labels, conflict_policy, skip_extraction),
            request_id=request_id or str(uuid4()),
        )
        return AsyncRememberStream(self._connection, start, timeout)
