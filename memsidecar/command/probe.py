"""`memsidecar probe`: what a container's health check asks."""

from __future__ import annotations

import sys
from typing import Final

from memsidecar.command import exit_codes
from memsidecar.config import Health

# Less than the second or so after which container engines give up.
_TIMEOUT_SECONDS: Final = 2.0
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def probe(health: Health, service: str) -> int:
    """Asks the sidecar that runs here and prints its answer: 0 for SERVING, 1 for any other, 75 for none."""
    if not health.port:
        print("memsidecar: health.port is 0: there is no health port to ask", file=sys.stderr)
        return exit_codes.USAGE
    # Not before it is needed: other commands start without them.
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    host = _ANY_ADDRESS.get(health.host, health.host)
    target = f"[{host}]:{health.port}" if ":" in host else f"{host}:{health.port}"
    with grpc.insecure_channel(target, options=[("grpc.enable_http_proxy", 0)]) as channel:
        try:
            request = health_pb2.HealthCheckRequest(service=service)
            answer = health_pb2_grpc.HealthStub(channel).Check(request, timeout=_TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                print(f"memsidecar: there is no service {service!r}", file=sys.stderr)
                return exit_codes.USAGE
            print(f"memsidecar: no answer at {target}", file=sys.stderr)
            return exit_codes.TRY_AGAIN
    print(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
    serving = answer.status == health_pb2.HealthCheckResponse.SERVING
    return exit_codes.OK if serving else exit_codes.PROBLEM
