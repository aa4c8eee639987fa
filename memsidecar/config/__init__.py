"""Everything that can be configured: one frozen value, made once at start by command/settings.py and handed down.

The text under a field is its help on the command line. A default of "" or 0 that means "off" or "worked out" says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints
from urllib.parse import quote, urlsplit, urlunsplit

from memsidecar.config.kinds import SECRET, Mebibytes, Mode, Port, Seconds, Secret, Url, Within
from memsidecar.config.models import Embedding, Extraction, Reranker
from memsidecar.config.tracing import Tracing


@dataclass(frozen=True, slots=True)
class Listen:
    """Where agents connect."""

    socket: str = ""
    """Path of the Unix socket. Empty: memsidecar.sock in the data directory, which is right beside one agent on a
    laptop; in a pod it is on the volume that the containers share."""
    socket_mode: Mode = 0o660
    """Permissions of the socket: its owner and its group may connect, nobody else."""
    socket_group: str = ""
    """Group (name or number) that owns the socket. Empty: the process's own group."""
    tcp_host: str = "127.0.0.1"
    """Address of the TCP port. Loopback only by default, because TCP has no file permissions."""
    tcp_port: Port = 0
    """TCP port for agents. 0: none; the socket is the safer way in."""


@dataclass(frozen=True, slots=True)
class Health:
    """The gRPC health service on a port of its own."""

    host: str = "0.0.0.0"
    """All addresses by default: the kubelet probes the pod's address and reaches neither a socket nor 127.0.0.1."""
    port: Port = 50_552
    """Health port, the same whatever agents connect to. 0: none."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Metrics for Prometheus, at /metrics on a port of their own."""

    host: str = "0.0.0.0"
    """All addresses by default: whoever collects them is in another pod. They hold no text and no names of users."""
    port: Port = 9_551
    """HTTP port of the metrics, without TLS. 0: none are shown."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused early, so that memory use stays bounded."""

    max_concurrent_rpcs: Annotated[int, Within(1, 100_000)] = 256
    """Calls in progress, streams among them; more are refused with RESOURCE_EXHAUSTED. 256 of the largest messages
    (4 MiB) are 1 GiB."""
    max_streams: Annotated[int, Within(1, 100_000)] = 64
    """Open streams among those calls, so that forgotten streams cannot lock out short calls."""
    max_watches: Annotated[int, Within(1, 100_000)] = 256
    """Open WatchMemories streams, which no other limit counts: they last, and wait nearly all of the time. One that
    reads slowly holds up to half a MiB."""
    max_watches_per_namespace: Annotated[int, Within(1, 100_000)] = 256
    """Those of one namespace. Lower it where tenants share a sidecar, so that none of them takes all."""
    stream_idle: Annotated[float, Within(1, 86_400, "s")] = 300.0
    """Seconds that a StreamRemember or a RecallDuring waits for its client's next message; then it ends with
    STREAM_IDLE: forgotten streams keep no new ones out. A Recall or WatchMemories whose client reads nothing for so
    long is cut."""
    heartbeat: Annotated[float, Within(1, 3_600, "s")] = 15.0
    """Seconds after which a silent stream shows that it is alive: well under the minute or so after which proxies and
    load balancers give up on one."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Recall while a model writes: RecallDuring."""

    max_streams: Annotated[int, Within(1, 100_000)] = 1_000
    """Open streams; more are refused with RESOURCE_EXHAUSTED. They are not counted among limits.max_streams and
    limits.max_concurrent_rpcs: one is open for as long as a model writes, and does little."""
    max_streams_per_namespace: Annotated[int, Within(1, 100_000)] = 1_000
    """Open streams of one namespace. Lower it where tenants share a sidecar, so that none of them takes all."""
    evaluations: Annotated[int, Within(1, 1_000)] = 8
    """Evaluations at once, in all streams, which take turns. More would only wait at the embedder; what waits here is
    evaluated with the text that has come meanwhile."""
    min_confidence: Annotated[float, Within(0, 1)] = 0.2
    """Confidence that a memory needs to be sent to a stream that does not say its own. Of LoCoMo's hits from 0.2 to 0.3
    one in seven is evidence, of those from 0.1 to 0.2 one in eleven; tests/quality/STREAMING.md has the curve."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph, a projection of the ledger."""

    engine: Literal["kuzu", "ladybug"] = "kuzu"
    """Graph engine. ladybug is kuzu's maintained fork: pip install 'memsidecar[ladybug]'. Changing it rebuilds the
    graph from the ledger."""
    buffer_pool_mb: Mebibytes = 256
    """The engine's page cache. Its own default is 80 % of the machine, which a sidecar must not take."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vector index, a projection of the ledger."""

    crossover: Annotated[int, Within(1, 10_000_000)] = 5_000
    """Vectors in one partition above which hnswlib is used. Exact search of 5,000 x 384 takes a fraction of a
    millisecond and finds everything; beyond the processor's cache its time is that of the memory."""


@dataclass(frozen=True, slots=True)
class Resident:
    """The users whose memory is held ready for recall."""

    max_mb: Mebibytes = 512
    """Memory for them all; the least recently used leave first. At 4 KB a memory this holds some 130,000 memories."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """How recalled memories are ordered."""

    profile: str = "default"
    """Profile of the namespaces that `namespaces` does not name. Built in: default, recent (what was said last first),
    balanced (0.55 relevance, 0.20 freshness, 0.15 importance, 0.10 confidence)."""
    profiles: str = ""
    """Further profiles, each changing weights of the default: "calm: session=0 neighbour=0.1; latest: freshness=0.5".
    The weights are those of memsidecar/domain/profile.py."""
    namespaces: str = ""
    """Namespaces with a profile of their own: "acme=calm, other=recent"."""


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What happens when a memory contradicts another one."""

    policy: Literal["auto", "supersede", "flag", "reject", "keep_both", "ask", "most_confident", "source_priority"] = (
        "auto"
    )
    """What a contradiction leads to where nothing else is said. auto: the new one takes the other's place when the user
    states it, it is not older and not less certain; else both are disputed until somebody resolves it."""
    policies: str = ""
    """Attributes with a policy of their own, and namespaces with their own: "lives_in=ask, likes=keep_both; acme:
    *=flag, deadline=supersede". What a request asks for goes before."""
    single: str = ""
    """Attributes that have one value at a time, against the table of memsidecar/domain/attributes.py: "pet, hobby;
    acme: project"."""
    multi: str = ""
    """Attributes that have several at a time: "employer; acme: lives_in"."""


@dataclass(frozen=True, slots=True)
class Redis:
    """Where sessions live."""

    url: Url = field(default="", repr=False)
    """redis://, rediss:// or unix:// URL, which may hold a password. Empty: a private server in the data directory."""
    cluster: bool = False
    """Whether the URL is of a Redis Cluster."""
    ca_file: str = ""
    """PEM file with the authorities that may sign the server's certificate. Empty: the system's."""
    username: str = ""
    """ACL user. Empty: the URL's, or the default user."""
    password: Secret = field(default="", repr=False)
    """Password of that user. Empty: the URL's, or none."""
    password_file: str = ""
    """File that holds the password, such as a mounted Secret."""
    maxmemory_mb: Mebibytes = 128
    """Memory for the private server's data. When it is full, writes to sessions are refused; nothing is dropped."""

    @property
    def connection_url(self) -> str:
        """The URL with `username` and `password` in it; "" for the private server."""
        if not self.url or not (self.username or self.password):
            return self.url
        parts = urlsplit(self.url)
        user = quote(self.username, safe="") if self.username else parts.username or ""
        password = quote(self.password, safe="") if self.password else parts.password or ""
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{user}:{password}@{host}"))

    @property
    def address(self) -> str:
        """Where the server is, for people: without user and password; "" for the private server."""
        parts = urlsplit(self.url)
        return parts.path if parts.scheme == "unix" else parts.netloc.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Log:
    """Lines on standard error. They never hold memory text, vectors or secrets."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe lines to write. info is one line for each start, stop and problem, and none for a healthy call."""
    format: Literal["auto", "json", "text"] = "auto"
    """json for log collectors, text for people. auto: text on a terminal, else json."""


@dataclass(frozen=True, slots=True)
class Config:
    """memsidecar"""

    data_dir: Path = Path("~/.local/share/memsidecar")
    """Where everything is kept: a real, local filesystem. One process at a time may own it."""
    namespace: str = "default"
    """Namespace of requests that name none: one agent on one machine need not know about tenants."""
    token: Secret = field(default="", repr=False)
    """Bearer token that agents must send. Empty: none, whoever may open the socket may call."""
    token_file: str = ""
    """File that holds the token, such as a mounted Secret."""
    reflection: bool = False
    """Whether gRPC reflection describes the API to whoever connects. Off: it is for development."""
    drain_grace: Seconds = 8.0
    """Seconds that calls in progress get to finish after SIGTERM. With 2 s for closing the stores it stays under 10."""
    tokenizer: str = "o200k"
    """Encoding that counts tokens when a request names no model: that of current OpenAI models."""
    listen: Listen = field(default_factory=Listen)
    health: Health = field(default_factory=Health)
    metrics: Metrics = field(default_factory=Metrics)
    limits: Limits = field(default_factory=Limits)
    generation: Generation = field(default_factory=Generation)
    graph: Graph = field(default_factory=Graph)
    vectors: Vectors = field(default_factory=Vectors)
    resident: Resident = field(default_factory=Resident)
    embedding: Embedding = field(default_factory=Embedding)
    reranker: Reranker = field(default_factory=Reranker)
    extraction: Extraction = field(default_factory=Extraction)
    ranking: Ranking = field(default_factory=Ranking)
    conflicts: Conflicts = field(default_factory=Conflicts)
    redis: Redis = field(default_factory=Redis)
    log: Log = field(default_factory=Log)
    tracing: Tracing = field(default_factory=Tracing)

    def __post_init__(self) -> None:
        # Absolute once and for all: a relative path means another place after a change of directory.
        object.__setattr__(self, "data_dir", _absolute(self.data_dir))

    @property
    def socket_path(self) -> Path:
        """Where the Unix socket is, whether it was named or worked out."""
        return _absolute(Path(self.listen.socket)) if self.listen.socket else self.data_dir / "memsidecar.sock"


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be configured. `kind` is its type without the markers; `section` is "" at the top."""

    section: str
    name: str
    kind: Any
    markers: tuple[Any, ...]
    default: Any

    @property
    def key(self) -> str:
        """As in the file's structure and in messages: `embedding.base_url`."""
        return f"{self.section}.{self.name}" if self.section else self.name

    @property
    def secret(self) -> bool:
        return SECRET in self.markers

    @property
    def within(self) -> Within | None:
        return next((marker for marker in self.markers if isinstance(marker, Within)), None)


@cache
def settings() -> Mapping[str, Setting]:
    """Every setting by its key, in the order of the classes above."""
    found = {}
    for section, cls in _classes():
        hints = get_type_hints(cls, include_extras=True)
        for each in fields(cls):
            hint = hints[each.name]
            if is_dataclass(hint):
                continue
            markers = getattr(hint, "__metadata__", ())
            kind = hint.__origin__ if markers else hint
            setting = Setting(section, each.name, kind, markers, each.default)
            found[setting.key] = setting
    return found


def value_of(config: Config, setting: Setting) -> Any:
    """What `config` holds for it."""
    return getattr(getattr(config, setting.section) if setting.section else config, setting.name)


def build(values: Mapping[str, Any]) -> Config:
    """A Config of values by key; what is missing keeps its default. Raises KeyError for a key that is none."""
    by_section: dict[str, dict[str, Any]] = {section: {} for section, _ in _classes()}
    for key, value in values.items():
        setting = settings()[key]
        by_section[setting.section][setting.name] = value
    sections = {section: cls(**by_section[section]) for section, cls in _classes() if section}
    return Config(**by_section[""], **sections)


def _absolute(path: Path) -> Path:
    expanded = os.path.expanduser(path)  # noqa: PTH111  Path.expanduser raises where there is no home directory
    return Path(expanded).absolute()


def _classes() -> Iterator[tuple[str, Any]]:
    yield "", Config
    hints = get_type_hints(Config)
    for each in fields(Config):
        if is_dataclass(hints[each.name]):
            yield each.name, hints[each.name]
