"""grpc.health.v1 over the sidecar's own state.

Services: "liveness" (the loop turns; never asks a store), "startup" (was ready once), "readiness", and with readiness
"" and every service of the API; that of sessions also needs their store. Not the servicer of grpcio-health-checking:
that one holds a lock while it writes to a watcher, so that a watcher who does not read stops every change of state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2

from memsidecar.domain.errors import SidecarError
from memsidecar.services.health import Health

_log = logging.getLogger(__name__)

LIVENESS: Final = "liveness"
STARTUP: Final = "startup"
READINESS: Final = "readiness"

# Fast enough for a probe's period, slow enough to cost nothing.
_POLL_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 2.0

_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class HealthServicer:
    """Answers Check and Watch; `run` keeps readiness up to date until it is cancelled."""

    def __init__(self, health: Health, services: Iterable[str], sessions: str) -> None:
        """`sessions` is the service that needs the session store; the others go on without."""
        self._health, self._sessions = health, sessions
        self._follow_readiness = ("", READINESS, *services)
        self._status = dict.fromkeys((*self._follow_readiness, sessions, STARTUP), _NOT_SERVING) | {LIVENESS: _SERVING}
        # Set, and replaced by a new one, with every change.
        self._changed = asyncio.Event()
        self._draining = False
        self._sessions_answer = True
        self._closed = False

    def handler(self) -> grpc.GenericRpcHandler:
        read, write = health_pb2.HealthCheckRequest.FromString, health_pb2.HealthCheckResponse.SerializeToString
        return grpc.method_handlers_generic_handler(
            "grpc.health.v1.Health",
            {
                "Check": grpc.unary_unary_rpc_method_handler(self._check, read, write),
                "Watch": grpc.unary_stream_rpc_method_handler(self._watch, read, write),
            },
        )

    async def run(self) -> None:
        while True:
            await self.poll()
            await asyncio.sleep(_POLL_SECONDS)

    async def poll(self) -> None:
        """Ask once, and wait for the answer only so long."""
        try:
            # Not wait_for(): Python 3.11's leaves the gathering's own cancellation for asyncio to complain of.
            async with asyncio.timeout(_PATIENCE_SECONDS):
                missing, problem = await asyncio.gather(self._health.ready(), self._health.sessions_problem())
        except TimeoutError:
            missing, problem = ("no answer in time",), "no answer in time"
        except SidecarError as error:
            missing, problem = (str(error),), str(error)
        ready = not missing and not self._draining
        if ready != (self._status[READINESS] == _SERVING):
            _log.info("ready" if ready else "not ready: %s", *(() if ready else (", ".join(missing) or "draining",)))
        if bool(problem) == self._sessions_answer:
            self._sessions_answer = not problem
            told = f"do not answer ({problem}); long-term memory goes on" if problem else "answer again"
            _log.warning("sessions %s", told)
        self._set(self._follow_readiness, ready)
        self._set((self._sessions,), ready and not problem)
        if ready:
            self._set((STARTUP,), True)

    @property
    def ready(self) -> bool:
        return bool(self._status[READINESS] == _SERVING)

    @property
    def sessions_answer(self) -> bool:
        return self._sessions_answer

    def drain(self) -> None:
        """Not ready from now on, whatever the stores say. Still alive."""
        self._draining = True
        self._set((*self._follow_readiness, self._sessions), False)

    def close(self) -> None:
        """End the watches."""
        self._closed = True
        self._changed.set()

    def _set(self, services: Iterable[str], serving: bool) -> None:
        before = dict(self._status)
        self._status.update(dict.fromkeys(services, _SERVING if serving else _NOT_SERVING))
        if self._status != before:
            self._changed.set()
            self._changed = asyncio.Event()

    async def _check(self, request: health_pb2.HealthCheckRequest, context: Any) -> health_pb2.HealthCheckResponse:
        status = self._status.get(request.service)
        _log.debug("health of %s", request.service)
        if status is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return health_pb2.HealthCheckResponse(status=status)

    async def _watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:
        sent = None
        while not self._closed:
            # Taken before the state is read: a change in between sets this very event.
            changed = self._changed
            status = self._status.get(request.service, _UNKNOWN)
            if status != sent:
                await context.write(health_pb2.HealthCheckResponse(status=status))
                sent = status
            await changed.wait()
