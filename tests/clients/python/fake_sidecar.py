"""A stand-in server for what the client does with the protocol itself: retries, deadlines, errors, streams, scopes.

It remembers nothing; a test says what each method answers. Needs only grpcio and the client, so that the version skew
test can run it in a bare virtual environment. It is thread-based: the client under test may live in any event loop.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from memsidecar_client.v1 import (
    info_service_pb2,
    job_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
)
from memsidecar_client.v1.generation_service_pb2 import RecallDuringResponse
from memsidecar_client.v1.generation_service_pb2_grpc import add_GenerationServiceServicer_to_server
from memsidecar_client.v1.info_service_pb2_grpc import add_InfoServiceServicer_to_server
from memsidecar_client.v1.job_service_pb2 import WatchJobResponse
from memsidecar_client.v1.job_service_pb2_grpc import add_JobServiceServicer_to_server
from memsidecar_client.v1.knowledge_service_pb2_grpc import add_KnowledgeServiceServicer_to_server
from memsidecar_client.v1.memory_service_pb2_grpc import add_MemoryServiceServicer_to_server
from memsidecar_client.v1.recall_service_pb2_grpc import add_RecallServiceServicer_to_server
from memsidecar_client.v1.session_service_pb2_grpc import add_SessionServiceServicer_to_server
from memsidecar_client.v1.watch_pb2 import WatchMemoriesResponse

Answer = Message | Callable[[Any], Message]
M = TypeVar("M", bound=Message)


def made(kind: type[M], /, **fields: Any) -> M:
    """The message with these fields, nested ones as dicts."""
    return kind(**fields)


@dataclass(frozen=True)
class Call:
    """One call as it arrived: `request` is one message, or the list of a stream's."""

    request: Any
    metadata: dict[str, str | bytes]
    time_remaining: float | None


@dataclass(frozen=True)
class Failure:
    """An answer that is an error, with trailing metadata."""

    code: grpc.StatusCode
    message: str = "refused"
    trailing: tuple[tuple[str, str | bytes], ...] = ()


class FakeSidecar:
    """Listens on a Unix socket of its own. `answers` and `failures` are by method name; failures are used up first."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ms"))
        self.target = f"unix://{self._folder}/s.sock"
        self.tcp_target = ""
        self.calls: defaultdict[str, list[Call]] = defaultdict(list)
        self.answers: dict[str, Answer] = {}
        self.failures: defaultdict[str, deque[Failure]] = defaultdict(deque)
        self.recall_events: list[recall_service_pb2.RecallResponse] = []
        self.late_recall_events: list[recall_service_pb2.RecallResponse] = []
        # What the calls of WatchMemories tell, one after the other; then each goes on in silence.
        self.watches: deque[list[WatchMemoriesResponse | Failure]] = deque()
        # What the calls of WatchJob tell, one after the other, each to its end.
        self.job_watches: deque[list[WatchJobResponse | Failure]] = deque()
        # Calls wait here when a test has cleared it: before a unary answer, before the late events of a recall.
        self.go_on = threading.Event()
        self.go_on.set()
        self.arrived = threading.Event()
        self.cancelled = threading.Event()
        self._server: grpc.Server | None = None

    def start(self) -> FakeSidecar:
        self._server = grpc.server(ThreadPoolExecutor(8))
        servicer: Any = self
        add_MemoryServiceServicer_to_server(servicer, self._server)
        add_KnowledgeServiceServicer_to_server(servicer, self._server)
        add_JobServiceServicer_to_server(servicer, self._server)
        add_RecallServiceServicer_to_server(servicer, self._server)
        add_SessionServiceServicer_to_server(servicer, self._server)
        add_InfoServiceServicer_to_server(servicer, self._server)
        add_GenerationServiceServicer_to_server(servicer, self._server)
        self._server.add_insecure_port(self.target)
        self.tcp_target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()
        return self

    def close(self) -> None:
        self.go_on.set()
        if self._server is not None:
            self._server.stop(None).wait()
        shutil.rmtree(self._folder)

    def only(self, method: str) -> Any:
        """The request of the one call that method got."""
        (call,) = self.calls[method]
        return call.request

    def enter(self, method: str, request: Any, context: Any) -> None:
        metadata = {str(key): value for key, value in context.invocation_metadata()}
        self.calls[method].append(Call(request, metadata, context.time_remaining()))
        context.add_callback(self._ended(context))
        self.arrived.set()
        if self.failures[method]:
            failure = self.failures[method].popleft()
            context.set_trailing_metadata(failure.trailing)
            context.abort(failure.code, failure.message)

    def _ended(self, context: Any) -> Callable[[], None]:
        def ended() -> None:
            if context.code() is None:
                self.cancelled.set()

        return ended

    def Recall(self, request: Any, context: Any) -> Iterator[recall_service_pb2.RecallResponse]:  # noqa: N802
        self.enter("Recall", request, context)
        yield from self.recall_events
        self.go_on.wait(10)
        yield from self.late_recall_events

    def RecallDuring(self, request_iterator: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        """Recalls the first sentence it is told, in however many pieces, and takes it back on the flush."""
        received: list[Any] = []
        said, seq, recalled = "", 1, False
        self.enter("RecallDuring", received, context)
        for message in request_iterator:
            received.append(message)
            memory = {"name": "m", "fact": {"statement": said}}
            match message.WhichOneof("event"):
                case "start":
                    yield made(RecallDuringResponse, started={"stream_id": "s", "initial_credit": 16})
                case "text":
                    said, seq = said + message.text.text, message.text.seq
                    if said.endswith((".", "。")) and not recalled:
                        recalled, memory = True, {"name": "m", "fact": {"statement": said}}
                        yield made(RecallDuringResponse, hit={"hit": {"memory": memory}, "trigger_seq": seq})
                case "flush":
                    yield made(RecallDuringResponse, retracted={"memory": "m", "reason": 1, "successor": memory})
                    yield made(RecallDuringResponse, watermark={"seq": seq})
                case "finish":
                    yield made(RecallDuringResponse, finished={"hits_sent": 1})
                    return

    def WatchMemories(self, request: Any, context: Any) -> Iterator[WatchMemoriesResponse]:  # noqa: N802
        over = threading.Event()
        self.enter("WatchMemories", request, context)
        context.add_callback(over.set)
        for told in self.watches.popleft() if self.watches else []:
            if not isinstance(told, Failure):
                yield told
                continue
            context.set_trailing_metadata(told.trailing)
            context.abort(told.code, told.message)
        over.wait(10)

    def WatchJob(self, request: Any, context: Any) -> Iterator[WatchJobResponse]:  # noqa: N802
        self.enter("WatchJob", request, context)
        for told in self.job_watches.popleft():
            if not isinstance(told, Failure):
                yield told
                continue
            context.set_trailing_metadata(told.trailing)
            context.abort(told.code, told.message)

    def StreamRemember(self, request_iterator: Any, context: Any) -> Any:  # noqa: N802
        received: list[Any] = []
        self.enter("StreamRemember", received, context)
        for message in request_iterator:
            received.append(message)
            if message.HasField("finish"):
                break
        items = sum(len(message.items.items) for message in received)
        return made(
            memory_service_pb2.StreamRememberResponse,
            received=items,
            action_counts={"REMEMBER_ACTION_CREATED": items},
            revision={"token": "r9"},
        )


def _answering(method: MethodDescriptor) -> Callable[[FakeSidecar, Any, Any], Message]:
    response_type = message_factory.GetMessageClass(method.output_type)

    def answer(self: FakeSidecar, request: Any, context: Any) -> Message:
        self.enter(method.name, request, context)
        self.go_on.wait(10)
        prepared = self.answers.get(method.name, response_type())
        return prepared if isinstance(prepared, Message) else prepared(request)

    return answer


for _file in (
    info_service_pb2,
    job_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
):
    for _service in _file.DESCRIPTOR.services_by_name.values():
        for _method in _service.methods:
            if not _method.client_streaming and not _method.server_streaming:
                setattr(FakeSidecar, _method.name, _answering(_method))
