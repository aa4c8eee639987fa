"""Whether this process can do its work: its own stores only, so that a slow model never takes a pod out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from memsidecar.domain.errors import SidecarError, StoreUnavailable
from memsidecar.ports.graph import GraphStore
from memsidecar.ports.ledger import Ledger
from memsidecar.ports.sessions import SessionStore

# A store that has not answered a trivial read by then is not one to send requests to. Below the 2 s that the server
# gives the whole question, so that the store is named.
TIMEOUT = 1.5


class Health:
    def __init__(self, ledger: Ledger, graph: GraphStore, sessions: SessionStore, sessions_known_as: str = "") -> None:
        """`sessions_known_as` is what an operator looks at when sessions do not answer: the setting, and its address
        without the password."""
        self._ledger, self._graph, self._sessions = ledger, graph, sessions
        self._sessions_known_as = sessions_known_as

    async def ready(self) -> tuple[str, ...]:
        """The names of own stores that do not answer; empty means ready. The session store does not count."""
        checks = {"ledger": self._ledger.check, "graph": self._graph.check}
        answers = await asyncio.gather(*(_problem_of(check) for check in checks.values()))
        return tuple(name for name, problem in zip(checks, answers, strict=True) if problem)

    async def sessions_problem(self) -> str:
        """Why the session store does not answer, for the log; "" when it does. Long-term memory goes on without it."""
        problem = await _problem_of(self._sessions.check)
        return f"{self._sessions_known_as}: {problem}" if problem and self._sessions_known_as else problem


async def _problem_of(check: Callable[[], Awaitable[None]]) -> str:
    try:
        async with asyncio.timeout(TIMEOUT):
            await check()
    except TimeoutError:
        return f"no answer in {TIMEOUT:g} s"
    except SidecarError as error:
        return (isinstance(error, StoreUnavailable) and error.reason) or str(error)
    return ""
