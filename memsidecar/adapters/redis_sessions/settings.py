"""What the session store is told about its server, and the limits of one session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """Where the server is and how much one session may hold.

    `url`: redis://, rediss:// (TLS), unix://, with user:password@ when the server wants one; redis+cluster:// and
    rediss+cluster:// for a cluster, or `cluster` with any of the first two. It may carry a password: not in repr().
    """

    url: str = field(repr=False)
    cluster: bool = False
    ca_file: str = ""
    """PEM file with the authorities that may sign the server's certificate; empty means those of the system."""
    explain: Callable[[], str] = field(default=str, repr=False)
    """Why the server does not answer, when somebody knows; empty when nobody does."""
    max_connections: int = 32
    timeout_s: float = 5.0
    """For one call as a whole: a free connection, connecting, the answer, and one more attempt when the line breaks.
    Half of what a client waits for by default."""
    max_messages: int = 10_000
    """A longer transcript loses its oldest messages; pinned ones and the system prompt stay in reach of windows."""
    max_pinned: int = 256
    max_scratch_entries: int = 1_000
    max_scratch_bytes: int = 1024 * 1024
    """Keys and values of one session's scratch together. Both limits keep listing one session's scratch cheap."""
