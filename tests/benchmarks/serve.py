"""`memsidecar` as it is, with one more service on its server: a unary echo that does nothing.

The yardstick of a call's latency has to be on the same channel, the same event loop and the same interpreter, or the
comparison is of two processes' luck. So the process under test is the real one, started through this module, which adds
`/benchmark.Echo/Echo`: it answers the bytes that `/benchmark.Echo/Answer` was last given. On the server no wrapper, no
protobuf: the least that grpc.aio can do, so a ratio against it flatters nothing. The client writes the same request and
parses the same answer as it does for the call that is measured (`Store.echo`).
"""

from __future__ import annotations

import sys
from typing import Any

import grpc

from memsidecar.__main__ import main

ECHO = "/benchmark.Echo/Echo"
ANSWER = "/benchmark.Echo/Answer"


class Echo:
    def __init__(self) -> None:
        self._answer = b""

    async def answer(self, request: bytes, _: Any) -> bytes:
        self._answer = request
        return b""

    async def echo(self, request: bytes, _: Any) -> bytes:
        return self._answer


def _with_echo() -> None:
    echo = Echo()
    methods: Any = {
        "Echo": grpc.unary_unary_rpc_method_handler(echo.echo),
        "Answer": grpc.unary_unary_rpc_method_handler(echo.answer),
    }
    make = grpc.aio.server

    def server(*args: Any, **kwargs: Any) -> grpc.aio.Server:
        made = make(*args, **kwargs)
        made.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("benchmark.Echo", methods),))
        return made

    grpc.aio.server = server


if __name__ == "__main__":
    _with_echo()
    sys.exit(main())
