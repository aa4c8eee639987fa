"""memsidecar as an agent uses it: another process, asked over its Unix socket through the generated stubs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
import psutil

import memsidecar
from memsidecar.v1 import memory_service_pb2 as pb
from memsidecar.v1 import memory_service_pb2_grpc, recall_service_pb2_grpc
from tests.benchmarks.compare.serving import Question, Vectors, peak_bytes, serve
from tests.benchmarks.dataset import embedding, recall_request, scope
from tests.benchmarks.store import QUICK_TO_RECONNECT, SETTINGS, at_rest
from tests.sidecar import Sidecar


class MemsidecarRunner:
    """Mode `vector` recalls by the vector alone, as the others do; mode `words` by the question's words, too."""

    def __init__(self) -> None:
        self._sidecar: Sidecar | None = None
        self._memories: Any = None
        self._recalls: Any = None
        self._channel: Any = None

    def open(self, folder: Path) -> None:
        self._sidecar = Sidecar(folder, SETTINGS)
        self._sidecar.start(wait=False)
        self._channel = grpc.insecure_channel(self._sidecar.target, options=QUICK_TO_RECONNECT)
        grpc.channel_ready_future(self._channel).result(timeout=60.0)
        self._memories = memory_service_pb2_grpc.MemoryServiceStub(self._channel)
        self._recalls = recall_service_pb2_grpc.RecallServiceStub(self._channel)

    def versions(self) -> Mapping[str, str]:
        return {"memsidecar": memsidecar.__version__, "grpcio": grpc.__version__, "python": sys.version.split()[0]}

    def store(self, user: str, texts: Sequence[str], vectors: Vectors) -> None:
        items = [
            pb.RememberItem(text=text, embedding=embedding(vector)) for text, vector in zip(texts, vectors, strict=True)
        ]
        request = pb.BatchRememberRequest(scope=scope(user), items=items)
        response = self._memories.BatchRemember(request)
        wrong = [result.error.message for result in response.results if not result.outcomes]
        if wrong:
            raise RuntimeError(wrong[0])

    def settle(self) -> float:
        assert self._sidecar is not None
        return at_rest(psutil.Process(self._sidecar.pid))

    def search(self, mode: str, question: Question) -> Any:
        words = question.text if mode == "words" else ""
        request = recall_request(question.user, words, question.vector)
        return self._recalls.RecallOnce(request)

    def texts(self, answer: Any) -> list[str]:
        return [hit.memory.episode.text for hit in answer.hits]

    def peak_bytes(self) -> int:
        """Of the server and the private session server under it; the client is the agent's."""
        assert self._sidecar is not None
        server = psutil.Process(self._sidecar.pid)
        return sum(peak_bytes(process.pid) for process in (server, *server.children(recursive=True)))

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._sidecar is not None:
            self._sidecar.stop()
            self._sidecar.close()


if __name__ == "__main__":
    serve(MemsidecarRunner())
