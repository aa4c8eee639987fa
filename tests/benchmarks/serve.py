"""`memsidecar` as it is, with one more service on its server: an echo that does nothing, and a look inside.

The yardstick of a call's latency has to be on the same channel, the same event loop and the same interpreter, or the
comparison is of two processes' luck. So the process under test is the real one, started through this module, which adds
`/benchmark.Echo/Echo`: it answers the bytes that `/benchmark.Echo/Answer` was last given; `/benchmark.Echo/Talk` does
so for each message of a stream. On the server no wrapper, no protobuf: the least that grpc.aio can do, so a ratio
against it flatters nothing. The client writes the same request and parses the same answer as it does for the call that
is measured (`Store.echo`). `/benchmark.Echo/Census` tells as JSON what the process holds.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import grpc
import psutil

from memsidecar.__main__ import main

ECHO = "/benchmark.Echo/Echo"
ANSWER = "/benchmark.Echo/Answer"
TALK = "/benchmark.Echo/Talk"
CENSUS = "/benchmark.Echo/Census"


class Echo:
    def __init__(self) -> None:
        self._answer = b""

    async def answer(self, request: bytes, _: Any) -> bytes:
        self._answer = request
        return b""

    async def echo(self, request: bytes, _: Any) -> bytes:
        return self._answer

    async def talk(self, requests: AsyncIterator[bytes], context: Any) -> None:
        async for _ in requests:
            await context.write(self._answer)


async def census(_: bytes, __: Any) -> bytes:
    """What is there when Python's collector and the C library have given back what they can."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    process = psutil.Process()
    tasks = asyncio.all_tasks()
    held: dict[str, Any] = {
        "names": Counter(str(getattr(task.get_coro(), "__qualname__", task.get_name())) for task in tasks),
        "tasks": len(tasks),
        "threads": threading.active_count(),
        "objects": len(gc.get_objects()),
        "fds": process.num_fds(),
        "os_threads": process.num_threads(),
        "rss": process.memory_info().rss,
    }
    return json.dumps(held).encode()


def with_echo() -> None:
    echo = Echo()
    methods: Any = {
        "Echo": grpc.unary_unary_rpc_method_handler(echo.echo),
        "Answer": grpc.unary_unary_rpc_method_handler(echo.answer),
        "Talk": grpc.stream_stream_rpc_method_handler(echo.talk),
        "Census": grpc.unary_unary_rpc_method_handler(census),
    }
    make = grpc.aio.server

    def server(*args: Any, **kwargs: Any) -> grpc.aio.Server:
        made = make(*args, **kwargs)
        made.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("benchmark.Echo", methods),))
        return made

    grpc.aio.server = server


if __name__ == "__main__":
    with_echo()
    sys.exit(main())
