"""gRPC handlers from a service's descriptor: every RPC of the proto must have a method of its name."""

from __future__ import annotations

from typing import Any, Final

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass

from memsidecar.server.admission import Kind
from memsidecar.server.calls import Calls
from memsidecar.server.wire import reader

# Calls that last as long as their client wants.
_WATCHES: Final = frozenset({"WatchMemories", "WatchJob"})


def handlers(
    service: ServiceDescriptor, servicer: object, calls: Calls, is_open: bool = False
) -> grpc.GenericRpcHandler:
    """`is_open`: its unary calls need no token. Raises AttributeError for an RPC that the servicer lacks."""
    made: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
    for method in service.methods:
        behaviour = getattr(servicer, method.name)
        name = f"{service.full_name}/{method.name}"
        read = reader(GetMessageClass(method.input_type))
        if method.client_streaming and method.server_streaming:
            write = GetMessageClass(method.output_type).SerializeToString
            made[method.name] = grpc.stream_stream_rpc_method_handler(calls.both_ways(name, behaviour), read, write)
        elif method.client_streaming:
            made[method.name] = grpc.stream_unary_rpc_method_handler(calls.client_stream(name, behaviour), read)
        elif method.server_streaming:
            write = GetMessageClass(method.output_type).SerializeToString
            stream = calls.server_stream(name, behaviour, Kind.WATCH if method.name in _WATCHES else Kind.STREAM)
            made[method.name] = grpc.unary_stream_rpc_method_handler(stream, read, write)
        else:
            made[method.name] = grpc.unary_unary_rpc_method_handler(calls.unary(name, behaviour, is_open), read)
    return grpc.method_handlers_generic_handler(service.full_name, made)
