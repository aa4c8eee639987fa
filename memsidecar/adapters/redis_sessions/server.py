"""The connection to the server: pool, scripts, one careful retry, and the translation of every driver error."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any, Protocol
from urllib.parse import urlsplit

from redis import exceptions as driver
from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from memsidecar.adapters.redis_sessions.failures import translated
from memsidecar.adapters.redis_sessions.settings import RedisSettings
from memsidecar.domain.errors import InvalidField, StoreFull
from memsidecar.domain.measures import Calls

Argument = str | bytes | int

# After a call that got no answer in time, the next one waits for this part of the time, and each further one longer:
# all four attempts of a client fit into its ten seconds, and it learns why.
_FIRST_PATIENCE = 0.1
_PATIENCE_GROWS = 1.5

_SESSION_SCRIPTS = ("create", "update", "end", "delete", "append", "messages", "pinned", "get_scratch")
_SCRATCH_SCRIPTS = ("set_scratch", "list_scratch", "delete_scratch")
_INDEX_SCRIPTS = ("index_add", "index_review", "index_remove")
_SCHEMES = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster")


class _Client(Protocol):
    """What Redis and RedisCluster have in common here."""

    async def execute_command(self, *args: Argument) -> Any: ...

    def pipeline(self, transaction: bool) -> Any: ...

    async def aclose(self) -> None: ...


class Server:
    """Runs scripts and commands. Raises StoreUnavailable or StoreFull, never what the driver raises."""

    def __init__(self, client: _Client, settings: RedisSettings) -> None:
        self._client, self._explain = client, settings.explain
        # A cluster's pool raises at once when a node has no free connection; so no more calls than that are let in.
        self._places = asyncio.Semaphore(settings.max_connections)
        self._timeout_s = self._patience_s = settings.timeout_s
        self._scripts = _load_scripts()
        self.calls = Calls("ok", "unavailable", "full", "cancelled")

    @classmethod
    def connect(cls, settings: RedisSettings) -> Server:
        """Connects with the first call, not here. Raises InvalidField for a URL of another kind."""
        return cls(_client(settings), settings)

    async def run(self, script: str, keys: Sequence[str], args: Sequence[Argument], repeatable: bool) -> Any:
        """What the script answers. `repeatable`: twice is the same as once, so a lost answer is asked for again."""
        source, sha = self._scripts[script]
        return await self._call(lambda: self._evaluate(source, sha, (len(keys), *keys, *args)), repeatable)

    async def command(self, *args: Argument) -> Any:
        """The answer to a command that only reads."""
        return await self._call(lambda: self._client.execute_command(*args), True)

    async def commands(self, batch: Sequence[tuple[Argument, ...]]) -> list[Any]:
        """The answers to commands that only read, in one round trip a node."""
        if not batch:
            return []

        async def execute() -> Any:
            pipeline = self._client.pipeline(transaction=False)
            for args in batch:
                pipeline.execute_command(*args)
            return await pipeline.execute()

        answers: list[Any] = await self._call(execute, True)
        return answers

    async def close(self) -> None:
        with self._translated():
            await self._client.aclose()

    async def _call(self, action: Any, repeatable: bool) -> Any:
        began, outcome = time.perf_counter(), "unavailable"
        try:
            answer = await self._answered(action, repeatable)
            outcome = "ok"
        except StoreFull:
            outcome = "full"
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            self.calls.note(outcome, time.perf_counter() - began)
        return answer

    async def _answered(self, action: Any, repeatable: bool) -> Any:
        with self._translated():
            try:
                async with asyncio.timeout(self._patience_s), self._places:
                    answer = await self._attempt(action, repeatable)
            except TimeoutError:
                # A server that hangs: what is asked next, often the same again, need not wait as long. Longer each
                # time, because one that is only slow must get its answers through.
                first = self._patience_s == self._timeout_s
                shorter = self._timeout_s * _FIRST_PATIENCE if first else self._patience_s * _PATIENCE_GROWS
                self._patience_s = min(self._timeout_s, shorter)
                raise
            self._patience_s = self._timeout_s
            return answer

    @staticmethod
    async def _attempt(action: Any, repeatable: bool) -> Any:
        try:
            return await action()
        except (driver.ConnectionError, driver.TimeoutError, driver.ClusterError, OSError):
            if not repeatable:
                raise
        return await action()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (driver.RedisError, driver.RedisClusterException, OSError) as error:
            raise translated(error, self._explain() or "does not answer") from error

    async def _evaluate(self, source: str, sha: str, args: tuple[Argument, ...]) -> Any:
        try:
            return await self._client.execute_command("EVALSHA", sha, *args)
        except driver.NoScriptError:
            # A restarted server, SCRIPT FLUSH, or another node: the text goes where the keys are, and stays there.
            return await self._client.execute_command("EVAL", source, *args)


def _load_scripts() -> dict[str, tuple[str, str]]:
    folder = resources.files(__package__) / "lua"

    def read(*names: str) -> tuple[str, str]:
        source = "\n".join((folder / f"{name}.lua").read_text(encoding="utf-8") for name in names)
        return source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

    return {
        **{name: read("session", name) for name in _SESSION_SCRIPTS},
        **{name: read("session", "scratch", name) for name in _SCRATCH_SCRIPTS},
        **{name: read("index", name) for name in _INDEX_SCRIPTS},
    }


def _client(settings: RedisSettings) -> _Client:
    scheme, separator, rest = settings.url.partition("://")
    if not separator or scheme not in _SCHEMES:
        raise InvalidField("redis.url", f"must start with one of {', '.join(f'{name}://' for name in _SCHEMES)}")
    cluster = settings.cluster or scheme.endswith("+cluster")
    scheme = scheme.removesuffix("+cluster")
    if cluster and scheme == "unix":
        raise InvalidField("redis.url", "a cluster cannot be reached through a Unix socket")
    options: dict[str, Any] = {
        # Server has the clock: with this one the driver uses wait_for(), which in Python 3.11 can lose a cancellation.
        "socket_timeout": None,
        "socket_connect_timeout": settings.timeout_s,
        # The driver would repeat any write; what may be repeated is decided in Server.
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
    }
    if scheme == "rediss" and settings.ca_file:
        options["ssl_ca_certs"] = settings.ca_file
    url = f"{scheme}://{rest}"
    try:
        if cluster:
            options["max_connections"] = settings.max_connections + 1  # one for looking at the topology
            return RedisCluster.from_url(url, **options)
        pool = BlockingConnectionPool.from_url(
            url, max_connections=settings.max_connections, timeout=settings.timeout_s, **options
        )
        # Connects to nothing yet. An option in the URL that the driver has not would come out with the first call.
        pool.connection_class(**pool.connection_kwargs)
        return Redis.from_pool(pool)
    except TypeError as error:
        raise InvalidField("redis.url", "has an option that the Redis client does not know") from error
    except (ValueError, driver.RedisError, driver.RedisClusterException) as error:
        # urlsplit() and the driver repeat the URL, with its password, in their messages.
        host = _host(url)
        raise InvalidField("redis.url", f"is not a valid address{f' (host {host})' if host else ''}") from error


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
