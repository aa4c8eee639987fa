"""`memsidecar` as it is, with one more RPC on its server: a unary echo that does nothing.

The yardstick of a recall's latency has to be on the same channel, the same event loop and the same interpreter, or the
comparison is of two processes' luck. So the process under test is the real one, started through this module, which adds
`/benchmark.Echo/Echo`: the first four bytes of a request say how many bytes to answer. No wrapper, no protobuf: this is
the least that grpc.aio can do, so a ratio against it flatters nothing.
"""

from __future__ import annotations

import sys
from typing import Any

import grpc

from memsidecar.__main__ import main

ECHO = "/benchmark.Echo/Echo"


async def _echo(request: bytes, _: Any) -> bytes:
    return bytes(int.from_bytes(request[:4], "little"))


def _with_echo() -> None:
    make = grpc.aio.server

    def server(*args: Any, **kwargs: Any) -> grpc.aio.Server:
        made = make(*args, **kwargs)
        handler: Any = grpc.unary_unary_rpc_method_handler(_echo)
        made.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("benchmark.Echo", {"Echo": handler}),))
        return made

    grpc.aio.server = server


if __name__ == "__main__":
    _with_echo()
    sys.exit(main())
