"""Clients that write, in processes of their own.

`python -m tests.benchmarks.writers '{"target": ...}'` takes the fields of `Load`, prints a line when it is connected,
begins at a line on its standard input, and ends with a line of JSON when its time is up or its input is closed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import grpc

from memsidecar.v1 import memory_service_pb2 as pb
from memsidecar.v1 import memory_service_pb2_grpc
from tests.benchmarks.dataset import Dataset, scope
from tests.benchmarks.measuring import samples
from tests.benchmarks.serve import ECHO

ROOT = Path(__file__).resolve().parents[2]
# More than any writer gets done: requests are made beforehand, since this process shares the server's cores.
_MOST_PER_SECOND = 4_000

Report = Mapping[str, float]
"""writes, seconds, cpu (seconds of this process), and the percentiles of a write."""


@dataclass(frozen=True, slots=True)
class Load:
    """`rate` 0: as fast as answers come. Writer n writes to `users[n % len(users)]`. With `echo` the same requests
    go to the benchmark's empty call, which stores nothing."""

    target: str
    block: int
    writers: int
    seconds: float
    users: Sequence[str]
    rate: float = 0.0
    echo: bool = False


class Client:
    """A client process that is connected and has its requests ready."""

    def __init__(self, load: Load) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.writers", json.dumps(asdict(load))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self._read()

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def finish(self) -> Report:
        """Its report, when its time is up."""
        report: Report = json.loads(self._read())
        self._process.communicate()
        return report

    def stop(self) -> Report:
        """Its report, now."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        report: Report = json.loads(self._read())
        self._process.wait()
        return report

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a client process ended with {self._process.wait()}")
        return line


def run_together(loads: Sequence[Load]) -> tuple[float, Sequence[Report]]:
    """Writes a second of all of them at once."""
    clients = [Client(load) for load in loads]
    for client in clients:
        client.begin()
    reports = [client.finish() for client in clients]
    return sum(r["writes"] / r["seconds"] for r in reports), reports


async def _write(load: Load) -> None:
    data = Dataset()
    taken: list[float] = []
    async with grpc.aio.insecure_channel(load.target) as channel:
        remember: Any = memory_service_pb2_grpc.MemoryServiceStub(channel).Remember
        if load.echo:
            remember = channel.unary_unary(ECHO, pb.RememberRequest.SerializeToString, pb.RememberResponse.FromString)
        enough = int((load.rate or _MOST_PER_SECOND) * load.seconds) // load.writers + 2
        sources = [
            _requests(data, load.block + 10 * n, enough, load.users[n % len(load.users)]) for n in range(load.writers)
        ]
        for source in sources:
            await remember(source.pop())
        loop = asyncio.get_running_loop()
        print("connected", flush=True)
        await loop.run_in_executor(None, sys.stdin.readline)
        closed = loop.run_in_executor(None, sys.stdin.readline)
        started, cpu = time.perf_counter(), time.process_time()

        async def writer(number: int, source: list[pb.RememberRequest]) -> None:
            due = started + number / load.rate if load.rate else 0.0
            while source and not closed.done():
                if load.rate:
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))
                    due += load.writers / load.rate
                began = time.perf_counter()
                if began >= started + load.seconds:
                    return
                await remember(source.pop())
                taken.append(time.perf_counter() - began)

        await asyncio.gather(*(writer(n, source) for n, source in enumerate(sources)))
        elapsed, cpu = time.perf_counter() - started, time.process_time() - cpu
    report = {"writes": len(taken), "seconds": elapsed, "cpu": cpu, **samples(taken).numbers()}
    # Before the end: that waits for the thread which reads the input, until whoever started this has the report.
    print(json.dumps(report), flush=True)


def _requests(data: Dataset, block: int, count: int, user: str) -> list[pb.RememberRequest]:
    blocks = (data.items(n) for n in itertools.count(block))
    items = itertools.islice(itertools.chain.from_iterable(blocks), count)
    return [pb.RememberRequest(scope=scope(user), item=item) for item in items]


if __name__ == "__main__":
    asyncio.run(_write(Load(**json.loads(sys.argv[1]))))
