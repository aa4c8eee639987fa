"""Whether this process can do its work: its own stores only, so that a slow model never takes a pod out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from memsidecar.domain.errors import SidecarError
from memsidecar.ports.graph import GraphStore
from memsidecar.ports.ledger import Ledger
from memsidecar.ports.sessions import SessionStore

# A store that has not answered a trivial read by then is not one to send requests to. Below the 2 s that the server
# gives the whole question, so that the store is named.
TIMEOUT = 1.5


class Health:
    def __init__(self, ledger: Ledger, graph: GraphStore, sessions: SessionStore) -> None:
        self._ledger, self._graph, self._sessions = ledger, graph, sessions

    async def ready(self) -> tuple[str, ...]:
        """The names of own stores that do not answer; empty means ready. The session store does not count."""
        checks = {"ledger": self._ledger.check, "graph": self._graph.check}
        answers = await asyncio.gather(*(_answers(check) for check in checks.values()))
        return tuple(name for name, well in zip(checks, answers, strict=True) if not well)

    async def sessions_ready(self) -> bool:
        """Whether the session store answers; long-term memory goes on without it."""
        return await _answers(self._sessions.check)


async def _answers(check: Callable[[], Awaitable[None]]) -> bool:
    try:
        async with asyncio.timeout(TIMEOUT):
            await check()
    except (SidecarError, TimeoutError):
        return False
    return True
