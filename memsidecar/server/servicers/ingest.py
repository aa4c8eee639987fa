"""Remembering one thing, many, or an unbounded stream of them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from memsidecar.domain import limits
from memsidecar.domain.draft import Draft, Outcome, Request
from memsidecar.domain.errors import InvalidField, ProtocolViolation, SidecarError, StreamIdle
from memsidecar.domain.scope import Scope
from memsidecar.server.mapping.memory_in import read_item
from memsidecar.server.mapping.memory_out import UsageOf
from memsidecar.server.mapping.names import read_scope
from memsidecar.server.mapping.outcome_out import Outcomes, action_of, flattened, set_stages
from memsidecar.server.servicers.writes import hashed, large_request_of, request_of
from memsidecar.server.status import item_error
from memsidecar.server.tokens import revision_token
from memsidecar.server.validation import Violations, check
from memsidecar.services.remember import Remember, Remembered, Stages, Wait
from memsidecar.services.turn import Turn
from memsidecar.v1 import memory_service_pb2 as pb

_MAX_FAILURES: Final = 100
# A client that means its `finish` closes its side in the same breath.
_CLOSE_SECONDS: Final = 1.0

# What the client sends, then None for the end or an exception for whatever else ended it.
_Result: TypeAlias = Sequence[Outcome] | SidecarError
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
        drafts = read_item(request.item, "item", scope, request.options, now, violations)
        violations.raise_any()
        once = await large_request_of(request, scope.agent)
        options = request.options
        remembered = await self._remember(scope, drafts, _wait(options), once, extract=not options.skip_extraction)
        result = _result_of(remembered.outcomes)
        if isinstance(result, SidecarError):
            raise result
        response = pb.RememberResponse()
        await Outcomes(now, self._usage_of).fill(response.outcomes, result)
        response.revision.token = revision_token(scope.partition, remembered.revision)
        set_stages(response.stages, remembered.stages, scope.partition)
        return response

    async def batch(self, request: pb.BatchRememberRequest) -> pb.BatchRememberResponse:
        # gRPC has just parsed up to 4 MiB.
        await asyncio.sleep(0)
        Violations(check(request)).raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        chunk = await self._chunk(request.items, "items", scope, request.options)
        once = await large_request_of(request, scope.agent)
        committed = await self._commit(chunk, scope, request.options, once)
        response = pb.BatchRememberResponse()
        outcomes = Outcomes(self._now(), self._usage_of)
        for index, result in enumerate(chunk.results):
            target = response.results.add(index=index)
            if isinstance(result, SidecarError):
                _set_error(target, result)
            else:
                await outcomes.fill(target.outcomes, result)
        if committed is not None:
            response.revision.token = revision_token(scope.partition, committed.revision)
            set_stages(response.stages, committed.stages, scope.partition)
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
        response, number = pb.StreamRememberResponse(), 0
        last: Remembered | None = None
        job, extracted, searchable = "", True, True
        while (message := await self._next(inbox, "items", "finish")).HasField("items"):
            Violations(check(message.items, "items")).raise_any()
            chunk = await self._chunk(message.items.items, "items.items", scope, start.options)
            request = await _request_of_chunk(opened, number, message.items)
            committed = await self._commit(chunk, scope, start.options, request, job)
            if committed is not None:
                last, stages = committed, committed.stages
                # All parts of a stream are one job.
                job = job or stages.job
                extracted, searchable = extracted and stages.extracted, searchable and stages.searchable
            _count(response, chunk.results)
            number += 1
        await _end(inbox)
        if last is not None:
            response.revision.token = revision_token(scope.partition, last.revision)
            set_stages(response.stages, Stages(extracted, searchable, job), scope.partition)
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
        counts = (max(1, len(item.conversation.turns)) for item in items)
        if sum(count for count in counts if count <= limits.MAX_BATCH_ITEMS) > limits.MAX_BATCH_ITEMS:
            raise InvalidField(path, f"have more than {limits.MAX_BATCH_ITEMS} turns and other items together")
        turn = Turn()
        for index, item in enumerate(items):
            await turn.give()
            violations = Violations(check(item, f"{path}[{index}]"))
            try:
                violations.raise_any()
                drafts = read_item(item, f"{path}[{index}]", scope, options, now, violations)
                violations.raise_any()
            except InvalidField as error:
                chunk.results.append(error)
            else:
                chunk.places.append((index, len(drafts)))
                chunk.drafts += drafts
                chunk.results.append(())
        return chunk

    async def _commit(
        self, chunk: _Chunk, scope: Scope, options: pb.RememberOptions, request: Request, job: str = ""
    ) -> Remembered | None:
        """Remember the valid items as a unit and fill in their results; None when there was none."""
        if not chunk.drafts:
            return None
        extract = not options.skip_extraction
        remembered = await self._remember(scope, chunk.drafts, _wait(options), request, extract=extract, job=job)
        start = 0
        for index, count in chunk.places:
            chunk.results[index] = _result_of(remembered.outcomes[start : start + count])
            start += count
        return remembered


@dataclass(slots=True)
class _Chunk:
    """Items of one request: the drafts of the valid ones, the place of each such item with the number of its drafts,
    and a result for each item."""

    drafts: list[Draft] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    results: list[_Result] = field(default_factory=list)


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


def _result_of(outcomes: Sequence[Outcome | SidecarError]) -> _Result:
    """What became of one item: of the turns of a conversation, the first that fails tells for all."""
    found: list[Outcome] = []
    for outcome in outcomes:
        if isinstance(outcome, SidecarError):
            return outcome
        found.append(outcome)
    return found


def _count(response: pb.StreamRememberResponse, results: Iterable[_Result]) -> None:
    for result in results:
        if isinstance(result, SidecarError):
            response.failure_count += 1
            if len(response.failures) < _MAX_FAILURES:
                _set_error(response.failures.add(index=response.received), result)
        else:
            for outcome, _ in flattened(result):
                action = pb.RememberAction.ValueType(action_of(outcome))
                response.action_counts[pb.RememberAction.Name(action)] += 1
        response.received += 1


def _set_error(target: pb.ItemResult, error: SidecarError) -> None:
    target.error.code, target.error.reason, target.error.message = item_error(error)
