"""Every default of the client, with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DEFAULT_TIMEOUT = 10.0
"""Seconds for one unary call, retries and waiting for the sidecar to start included. A recall takes milliseconds; ten
seconds outlast a sidecar that starts beside the agent, and still end before an agent's own request gives up."""

MAX_ATTEMPTS = 4
INITIAL_BACKOFF = "0.1s"
MAX_BACKOFF = "1s"
BACKOFF_MULTIPLIER = 2
"""Four attempts with 0.1 s doubling cover a restart of the sidecar's process without flooding it."""

INITIAL_RECONNECT_BACKOFF_MS = 100
MIN_RECONNECT_BACKOFF_MS = 100
MAX_RECONNECT_BACKOFF_MS = 500
"""gRPC's own first pause is one second, for servers across a network. This one is on the same machine."""

TCP_KEEPALIVE_MS = 60_000
TCP_KEEPALIVE_TIMEOUT_MS = 20_000
"""Over TCP a vanished peer is noticed by pings only. A Unix socket reports it at once, so there are none on it."""

MAX_BATCH_ITEMS = 256
"""What the server takes in one call or chunk."""

MAX_BATCH_BYTES = 3 * 1024 * 1024
"""Below gRPC's 4 MiB limit of a message, with room for the scope, the options and the framing."""

RECALL_QUEUE_EVENTS = 256
"""More than a recall can send (200 hits, one report a tier, one summary): a slow reader never stalls the server and the
deadline measures the server alone. It bounds what a server that keeps to no limit can pile up."""

WATCH_QUEUE_EVENTS = 64
"""Enough to work while the next ones arrive. A reader that is slower than the changes stalls its watch, which holds
nothing of them at the server."""

WATCH_FIRST_PAUSE = 0.05
WATCH_LAST_PAUSE = 2.0
"""Seconds between attempts to go on, doubling: a sidecar that restarts is back within a few."""

SCRATCH_PAGE_SIZE = 1000
"""The largest page the server gives: reading scratch values by key then takes one call."""

NO_LABELS: Mapping[str, str] = MappingProxyType({})
