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

GENERATION_PIECE_DELAY = 0.02
"""Seconds that a piece of generated text waits for more before it is sent, unless it ends a sentence. A message costs
the server a wake-up; a token is rarely worth one, and nobody notices a fiftieth of a second."""

GENERATION_PIECE_BYTES = 60_000
"""Of one piece of text in UTF-8: the server takes 64 KiB."""

GENERATION_TEXT_BYTES = 1024 * 1024
"""Of all text of a generation in UTF-8: what the server takes in one stream."""

GENERATION_KEEPALIVE = 60.0
"""Seconds of silence after which a stream that may have to take something back says that it is there. The server's
usual limit is five minutes; a lower one is learned when it ends a stream."""

GENERATION_KNOWN_MEMORIES = 1000
"""What the server takes in one start."""

INITIAL_CREDIT = 16
"""The server's own default, counted here before it says so."""

RESUME_TIMEOUT = 30.0
"""Seconds that a broken stream tries to go on. A sidecar that was killed is back within a few, replay included; the
model goes on writing meanwhile and loses nothing but memories."""

FIRST_RESUME_PAUSE = 0.05
LAST_RESUME_PAUSE = 1.0
"""Seconds between attempts to go on, doubling, each shortened by up to a half at random: the streams of a sidecar that
was restarted must not all come back at once."""

STEADY_AFTER = 5.0
"""Seconds that a resumed stream must live for its next break to be a new one, with time of its own."""

CHECK_TIMEOUT = 2.0
"""Seconds for looking up one memory after a stream was resumed. What cannot be looked up is taken to hold."""
