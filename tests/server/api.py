"""The API from a client's side: stubs, and statuses taken apart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from memsidecar.v1.info_service_pb2_grpc import InfoServiceStub
from memsidecar.v1.job_service_pb2_grpc import JobServiceStub
from memsidecar.v1.knowledge_service_pb2_grpc import KnowledgeServiceStub
from memsidecar.v1.memory_service_pb2_grpc import MemoryServiceStub
from memsidecar.v1.recall_service_pb2_grpc import RecallServiceStub
from memsidecar.v1.session_service_pb2_grpc import SessionServiceStub


class Api:
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.memory: Any = MemoryServiceStub(channel)
        self.recall: Any = RecallServiceStub(channel)
        self.session: Any = SessionServiceStub(channel)
        self.knowledge: Any = KnowledgeServiceStub(channel)
        self.job: Any = JobServiceStub(channel)
        self.info: Any = InfoServiceStub(channel)


@dataclass(frozen=True)
class Refusal:
    code: grpc.StatusCode
    message: str
    reason: str
    metadata: dict[str, str]
    fields: dict[str, str]
    retry_after: float | None
    trailers: dict[str, str | bytes]


def taken_apart(error: grpc.aio.AioRpcError) -> Refusal:
    trailers = dict(error.trailing_metadata())
    status = Status.FromString(trailers.get("grpc-status-details-bin", b""))
    info, fields, retry = ErrorInfo(), {}, None
    for detail in status.details:
        if detail.Unpack(info):
            continue
        bad, again = BadRequest(), RetryInfo()
        if detail.Unpack(bad):
            fields = {v.field: v.description for v in bad.field_violations}
        elif detail.Unpack(again):
            retry = again.retry_delay.ToTimedelta().total_seconds()
    if status.details:
        assert info.domain == "memsidecar"
        assert status.code == error.code().value[0]
        assert status.message == error.details()
    return Refusal(error.code(), error.details() or "", info.reason, dict(info.metadata), fields, retry, trailers)


async def refused(call: Awaitable[Any]) -> Refusal:
    """The status of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return taken_apart(caught.value)


async def refused_stream(call: Any) -> Refusal:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for _ in call:
            pass
    return taken_apart(caught.value)


async def sent(messages: Iterable[Any]) -> AsyncIterator[Any]:
    for message in messages:
        yield message
