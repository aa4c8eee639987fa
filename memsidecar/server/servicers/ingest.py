"""Remembering one thing, many, or an unbounded stream of them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from memsidecar.domain import limits
from memsidecar.domain.draft import Draft, Outcome, Request
from memsidecar.domain.errors import InvalidField, ProtocolViolation, SidecarError, StreamIdle
from memsidecar.domain.revision import revision_token
from memsidecar.domain.scope import Scope
from memsidecar.server.mapping.memory_in import read_item
from memsidecar.server.mapping.memory_out import UsageOf, set_outcome
from memsidecar.server.mapping.names import read_scope
from memsidecar.server.servicers.writes import hashed, large_request_of, request_of
from memsidecar.server.status import item_error
from memsidecar.server.validation import Violations, check
from memsidecar.services.remember import Remember, Wait
from memsidecar.services.turn import Turn
from memsidecar.v1 import memory_service_pb2 as pb

_MAX_FAILURES: Final = 100
# A client that means its `finish` closes its side in the same breath.
_CLOSE_SECONDS: Final = 1.0
# Room in an answer for what is not an item.
_RESERVE: Final = 64 * 1024

# What the client sends, then None for the end or an exception for whatever else ended it.
_Inbox: TypeAlias = asyncio.Queue[pb.StreamRememberRequest | Exception | None]


class Ingest:
    """The three ways to remember."""

    def __init__(
        self,
        remember: Remember,
        usage_of: UsageOf,
        default_namespace: str,
        now: Callable[[], int],
        stream_idle: float,
    ) -> None:
        """`stream_idle`: seconds that a stream may wait for its client's next message."""
        self._remember, self._usage_of = remember, usage_of
        self._default_namespace = default_namespace
        self._now = now
        self._stream_idle = stream_idle

    async def one(self, request: pb.RememberRequest) -> pb.RememberResponse:
        violations = Violations(check(request))
        violations.raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        now = self._now()
        draft = read_item(request.item, "item", scope, dict(request.options.labels), now, violations)
        violations.raise_any()
        once = await large_request_of(request, scope.agent)
        remembered = await self._remember(scope, (draft,), _wait(request.options), once)
        response = pb.RememberResponse()
        for outcome in remembered.outcomes:
            if isinstance(outcome, SidecarError):
                raise outcome
            set_outcome(response.outcomes.add(), outcome, now, self._usage_of)
        response.revision.token = revision_token(scope.partition, remembered.revision)
        return response

    async def batch(self, request: pb.BatchRememberRequest) -> pb.BatchRememberResponse:
        # gRPC has just parsed up to 4 MiB.
        await asyncio.sleep(0)
        Violations(check(request)).raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        chunk = await self._chunk(request.items, "items", scope, request.options)
        once = await large_request_of(request, scope.agent)
        revision = await self._commit(chunk, scope, request.options, once)
        response, now = pb.BatchRememberResponse(), self._now()
        room = limits.MAX_MESSAGE_BYTES - _RESERVE
        turn = Turn()
        for index, result in enumerate(chunk.results):
            await turn.give()
            target = response.results.add(index=index)
            _set_result(target, result, now, self._usage_of)
            room -= target.ByteSize() + 8
            if room < 0:
                for outcome in target.outcomes:
                    name, etag = outcome.memory.name, outcome.memory.etag
                    outcome.memory.Clear()
                    outcome.memory.name, outcome.memory.etag = name, etag
        if revision is not None:
            response.revision.token = revision_token(scope.partition, revision)
        return response

    async def stream(self, requests: AsyncIterator[pb.StreamRememberRequest]) -> pb.StreamRememberResponse:
        # A cancelled call and one that the client has half-closed look the same to whoever reads its messages; only
        # a handler that awaits something else is told of the cancellation. So a task of its own reads.
        inbox: _Inbox = asyncio.Queue(maxsize=1)
        reader = asyncio.create_task(_read(requests, inbox), name="stream-remember-reader")
        try:
            return await self._ingest(inbox)
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _ingest(self, inbox: _Inbox) -> pb.StreamRememberResponse:
        start = (await self._next(inbox, "start")).start
        Violations(check(start, "start")).raise_any()
        scope = read_scope(start.scope, self._default_namespace)
        opened = request_of(start, scope.agent)
        response, number, revision = pb.StreamRememberResponse(), 0, None
        while (message := await self._next(inbox, "items", "finish")).HasField("items"):
            Violations(check(message.items, "items")).raise_any()
            chunk = await self._chunk(message.items.items, "items.items", scope, start.options)
            request = await _request_of_chunk(opened, number, message.items)
            committed = await self._commit(chunk, scope, start.options, request)
            revision = revision if committed is None else committed
            _count(response, chunk.results)
            number += 1
        await _end(inbox)
        if revision is not None:
            response.revision.token = revision_token(scope.partition, revision)
        return response

    async def _next(self, inbox: _Inbox, *expected: str) -> Any:
        try:
            async with asyncio.timeout(self._stream_idle):
                message = await inbox.get()
        except TimeoutError as error:
            raise StreamIdle(self._stream_idle) from error
        if isinstance(message, Exception):
            raise message
        received = "the end of the stream" if message is None else message.WhichOneof("message") or "an empty message"
        if received not in expected:
            raise ProtocolViolation(" or ".join(expected), received)
        return message

    async def _chunk(
        self, items: Sequence[pb.RememberItem], path: str, scope: Scope, options: pb.RememberOptions
    ) -> _Chunk:
        chunk, now = _Chunk(), self._now()
        labels: Mapping[str, str] = dict(options.labels)
        turn = Turn()
        for index, item in enumerate(items):
            await turn.give()
            violations = Violations(check(item, f"{path}[{index}]"))
            try:
                violations.raise_any()
                draft = read_item(item, f"{path}[{index}]", scope, labels, now, violations)
                violations.raise_any()
            except InvalidField as error:
                chunk.results.append(error)
            else:
                chunk.places.append(index)
                chunk.drafts.append(draft)
                chunk.results.append(None)
        return chunk

    async def _commit(self, chunk: _Chunk, scope: Scope, options: pb.RememberOptions, request: Request) -> int | None:
        """Remember the valid items as a unit and fill in their results; None when there was none."""
        if not chunk.drafts:
            return None
        remembered = await self._remember(scope, chunk.drafts, _wait(options), request)
        for index, outcome in zip(chunk.places, remembered.outcomes, strict=True):
            chunk.results[index] = outcome
        return remembered.revision


@dataclass(slots=True)
class _Chunk:
    """Items of one request: the drafts of the valid ones, their places, and a result for each item."""

    drafts: list[Draft] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    results: list[Outcome | SidecarError | None] = field(default_factory=list)


async def _read(
    requests: AsyncIterator[pb.StreamRememberRequest],
    inbox: _Inbox,
) -> None:
    """Move messages into the inbox; None stands for the end. Whatever goes wrong is raised by who takes it out."""
    try:
        async for request in requests:
            await inbox.put(request)
    except Exception as error:
        await inbox.put(error)
    else:
        await inbox.put(None)


async def _end(inbox: _Inbox) -> None:
    try:
        message = await asyncio.wait_for(inbox.get(), _CLOSE_SECONDS)
    except TimeoutError:
        return
    if isinstance(message, Exception):
        raise message
    if message is not None:
        raise ProtocolViolation("the end of the stream", message.WhichOneof("message") or "an empty message")


async def _request_of_chunk(opened: Request, number: int, items: pb.StreamRememberItems) -> Request:
    """The chunk's own id follows from the stream's, so that a stream sent again is known chunk by chunk."""
    if not opened.request_id:
        return opened
    digest = await hashed(opened.digest + items.SerializeToString(deterministic=True))
    return Request(str(uuid.uuid5(uuid.UUID(opened.request_id), str(number))), digest, opened.actor)


def _wait(options: pb.RememberOptions) -> Wait:
    return Wait.DURABLE if options.wait == pb.WRITE_WAIT_DURABLE else Wait.SEARCHABLE


def _count(response: pb.StreamRememberResponse, results: Iterable[Outcome | SidecarError | None]) -> None:
    for result in results:
        if isinstance(result, Outcome):
            response.action_counts[pb.RememberAction.Name(pb.RememberAction.ValueType(result.action))] += 1
        else:
            response.failure_count += 1
            if len(response.failures) < _MAX_FAILURES:
                failure = response.failures.add(index=response.received)
                if result is not None:
                    _set_error(failure, result)
        response.received += 1


def _set_result(target: pb.ItemResult, result: Outcome | SidecarError | None, now: int, usage_of: UsageOf) -> None:
    if isinstance(result, Outcome):
        set_outcome(target.outcomes.add(), result, now, usage_of)
    elif result is not None:
        _set_error(target, result)


def _set_error(target: pb.ItemResult, error: SidecarError) -> None:
    target.error.code, target.error.reason, target.error.message = item_error(error)
