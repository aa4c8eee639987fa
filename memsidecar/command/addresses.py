"""What is wrong with the addresses of other servers, as far as the configuration alone tells: nothing is asked, and no
library of theirs is loaded, because a probe reads the configuration every few seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from memsidecar.config import Config, Redis

_REDIS: Final = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster")
_CLUSTER: Final = "+cluster"


def of_urls(config: Config) -> Iterator[tuple[str, str]]:
    """(key, problem) for the addresses of models and of sessions. Never the address itself: it may hold a password."""
    models = (
        ("embedding.base_url", config.embedding.base_url, config.embedding.provider == "openai"),
        ("reranker.base_url", config.reranker.base_url, config.reranker.provider != "none"),
        ("extraction.base_url", config.extraction.base_url, config.extraction.mode == "llm"),
    )
    for key, url, is_used in models:
        if is_used and not is_http(url):
            yield key, "is not an http(s) address; write it as http://host:8000/v1"
    if config.redis.url:
        yield from _of_redis(config.redis)
    elif config.redis.cluster:
        yield "redis.cluster", "redis.url is empty, and the private server is no cluster"


def is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _of_redis(redis: Redis) -> Iterator[tuple[str, str]]:
    key = "redis.url"
    try:
        parts = urlsplit(redis.url)
        usable = parts.port != 0 and not parts.fragment
    except ValueError:
        usable = False
    if not usable:
        yield (
            key,
            "is not a Redis address; what is special in a URL is percent-encoded in a password, such as %40 for @",
        )
        return
    if parts.scheme not in _REDIS or not redis.url.startswith(f"{parts.scheme}://"):
        yield key, f"must start with one of {', '.join(f'{scheme}://' for scheme in _REDIS)}"
        return
    clustered = redis.cluster or parts.scheme.endswith(_CLUSTER)
    database = (parse_qs(parts.query, keep_blank_values=True).get("db") or [""])[0]
    if parts.scheme == "unix":
        if clustered:
            yield key, "a cluster cannot be reached through a Unix socket"
        if not parts.path:
            yield key, "names no socket; write it as unix:///run/redis.sock"
    else:
        database = database or unquote(parts.path).strip("/")
    # The driver passes over a number that is none, and takes database 0.
    if database and not (database.isascii() and database.isdecimal()):
        yield key, "has a database that is not a number; write it as redis://host:6379/0"
    elif clustered and database and int(database):
        yield key, "names a database, and a cluster has number 0 only"
