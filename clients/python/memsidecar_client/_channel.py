"""How the gRPC channel is configured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from google.protobuf.descriptor import ServiceDescriptor

from memsidecar_client import _defaults
from memsidecar_client.v1 import (
    info_service_pb2,
    job_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
)

_FILES = (
    info_service_pb2,
    job_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
)


def channel_options(target: str) -> Sequence[tuple[str, int | str]]:
    """Channel arguments for a target such as `unix:///run/memsidecar/memsidecar.sock` or `127.0.0.1:50551`."""
    options: list[tuple[str, int | str]] = [
        ("grpc.initial_reconnect_backoff_ms", _defaults.INITIAL_RECONNECT_BACKOFF_MS),
        ("grpc.min_reconnect_backoff_ms", _defaults.MIN_RECONNECT_BACKOFF_MS),
        ("grpc.max_reconnect_backoff_ms", _defaults.MAX_RECONNECT_BACKOFF_MS),
        ("grpc.enable_retries", 1),
        ("grpc.service_config", service_config()),
        # A sidecar is local: an http_proxy variable meant for the model provider must not catch its calls.
        ("grpc.enable_http_proxy", 0),
    ]
    if not target.startswith(("unix:", "unix-abstract:")):
        options += [
            ("grpc.keepalive_time_ms", _defaults.TCP_KEEPALIVE_MS),
            ("grpc.keepalive_timeout_ms", _defaults.TCP_KEEPALIVE_TIMEOUT_MS),
        ]
    return options


def service_config() -> str:
    """Retries of UNAVAILABLE for every method that is harmless to repeat, as gRPC's JSON."""
    return json.dumps(
        {
            "methodConfig": [
                {
                    "name": [{"service": service, "method": method} for service, method in _repeatable()],
                    "retryPolicy": {
                        "maxAttempts": _defaults.MAX_ATTEMPTS,
                        "initialBackoff": _defaults.INITIAL_BACKOFF,
                        "maxBackoff": _defaults.MAX_BACKOFF,
                        "backoffMultiplier": _defaults.BACKOFF_MULTIPLIER,
                        "retryableStatusCodes": ["UNAVAILABLE"],
                    },
                }
            ]
        }
    )


def _repeatable() -> Iterator[tuple[str, str]]:
    """Every call whose request is one message: reads, and writes, which carry a request_id or come to the same when
    they are repeated.

    gRPC retries a streamed answer only before its first message. A streamed request is not in the list: what has been
    sent would have to be kept for it.
    """
    for file in _FILES:
        services: Sequence[ServiceDescriptor] = list(file.DESCRIPTOR.services_by_name.values())
        for service in services:
            for method in service.methods:
                if not method.client_streaming:
                    yield service.full_name, method.name
