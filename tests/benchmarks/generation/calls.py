"""RecallDuring as an agent calls it, with nothing between it and gRPC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration

from memsidecar.v1 import generation_service_pb2 as pb
from memsidecar.v1 import generation_service_pb2_grpc
from tests.benchmarks.dataset import Dataset, scope

# What no generation of a benchmark reaches.
PLENTY = 1_000
PLENTY_OF_TOKENS = 100_000

HITS_A_STREAM = 64


def follow(channel: grpc.aio.Channel, deadline: float | None = None) -> Any:
    """An open stream: `write` requests, `read` responses."""
    stub: Any = generation_service_pb2_grpc.GenerationServiceStub(channel)
    return stub.RecallDuring(timeout=deadline)


def start(user: str, min_interval: float | None = None, **fields: Any) -> pb.RecallDuringRequest:
    begin = pb.GenerationStart(scope=scope(user), **fields)
    # The rate is the benchmark's: only what it writes as a sentence is evaluated.
    begin.trigger.min_chars = 4_096
    if min_interval is not None:
        begin.trigger.min_interval.CopyFrom(Duration(nanos=round(min_interval * 1e9)))
    return pb.RecallDuringRequest(start=begin)


def delta(seq: int, text: str) -> pb.RecallDuringRequest:
    return pb.RecallDuringRequest(text=pb.TextDelta(seq=seq, text=text))


def finish() -> pb.RecallDuringRequest:
    return pb.RecallDuringRequest(finish=pb.GenerationFinish(outcome=pb.GENERATION_OUTCOME_COMPLETED))


def credit(hits: int) -> pb.RecallDuringRequest:
    return pb.RecallDuringRequest(credit=pb.Credit(hits=hits))


def sentences() -> Iterator[str]:
    """About the memories, without an end, each a line."""
    texts = _questions()
    for number in count():
        yield f"{texts[number % len(texts)]} {number}\n"


@cache
def _questions() -> Sequence[str]:
    return [text for text, _ in Dataset().questions(500, words=True)]


async def has_begun(call: Any) -> None:
    response = await call.read()
    if response is grpc.aio.EOF or response.WhichOneof("event") != "started":
        raise RuntimeError(f"a stream was not started: {await call.code()}, {await call.details()}")
