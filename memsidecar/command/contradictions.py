"""What is wrong with a configuration whose values are all right."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from memsidecar.adapters.quicktok_tokenizer.names import ENCODINGS, encoding_of
from memsidecar.command.addresses import is_http, of_urls
from memsidecar.config import Config
from memsidecar.config.tracing import Tracing
from memsidecar.domain.conflicts.rule_choice import read_rules
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.key_values import read_key_values
from memsidecar.domain.profile_choice import read_choice
from memsidecar.server.loopback import is_loopback

# A Unix socket's address holds 108 bytes, the closing NUL among them.
MAX_SOCKET_PATH_BYTES: Final = 107
# A token, and what can be printed of Latin-1.
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [\x20-\x7e\xa0-\xff]*")


def contradictions(config: Config) -> Iterator[tuple[str, str]]:
    """(key, problem) for values that are fine alone and not together."""
    if (length := len(os.fsencode(config.socket_path))) > MAX_SOCKET_PATH_BYTES:
        yield (
            "listen.socket",
            f"{config.socket_path} has {length} bytes, and a Unix socket's path at most {MAX_SOCKET_PATH_BYTES}; set "
            "listen.socket to a shorter path, such as /run/memsidecar/memsidecar.sock",
        )
    if "~" in config.data_dir.parts:
        yield "data_dir", "this user has no home directory for ~ to stand for; set data_dir to an absolute path"
    if config.listen.tcp_port and config.listen.tcp_port == config.health.port:
        yield "listen.tcp_port", f"{config.listen.tcp_port} is the health port, too; choose another"
    if (port := config.metrics.port) and port in (config.health.port, config.listen.tcp_port):
        yield (
            "metrics.port",
            f"{port} is the {'health' if port == config.health.port else 'TCP'} port, too; choose another",
        )
    if config.embedding.provider == "openai" and not config.embedding.model:
        yield "embedding.model", "embedding.provider is openai, which needs a model such as text-embedding-3-small"
    if config.embedding.provider == "client" and not config.embedding.dimensions:
        yield "embedding.dimensions", "embedding.provider is client, which needs the size of the vectors"
    if config.reranker.provider != "none" and not config.reranker.model:
        yield "reranker.model", f"reranker.provider is {config.reranker.provider}, which needs a model"
    if config.extraction.mode == "llm" and not config.extraction.model:
        yield "extraction.model", "extraction.mode is llm, which needs a model"
    yield from of_urls(config)
    if config.listen.tcp_port and not config.token and not is_loopback(config.listen.tcp_host):
        yield (
            "listen.tcp_host",
            f"a port on {config.listen.tcp_host} needs a token, or anybody could read every memory; set token_file, or "
            "leave the address at 127.0.0.1",
        )
    if encoding_of(config.tokenizer) is None:
        yield "tokenizer", f"{config.tokenizer!r} is no encoding; there are {', '.join(ENCODINGS)}"
    if not config.namespace:
        yield "namespace", "must not be empty"
    yield from _of_tracing(config.tracing)
    try:
        read_choice(config.ranking.profiles, config.ranking.profile, config.ranking.namespaces)
    except InvalidField as error:
        yield error.violations[0]
    try:
        read_rules(config.conflicts.policy, config.conflicts.policies, config.conflicts.single, config.conflicts.multi)
    except InvalidField as error:
        yield error.violations[0]


def _of_tracing(tracing: Tracing) -> Iterator[tuple[str, str]]:
    if not tracing.endpoint:
        return
    if not is_http(tracing.endpoint):
        yield "tracing.endpoint", "is not an http(s) address; write it as http://host:4318"
    if not tracing.service_name:
        yield "tracing.service_name", "must not be empty"
    for key, text in (("tracing.attributes", tracing.attributes), ("tracing.headers", tracing.headers)):
        try:
            values = read_key_values(text, key)
        except InvalidField as error:
            yield error.violations[0]
            continue
        # What HTTP does not carry would fail with each batch, long after the start.
        if key == "tracing.headers" and not all(map(_HEADER.fullmatch, map(": ".join, values.items()))):
            yield key, "holds a name or a value that no HTTP header may have; write authorization=Bearer%20..."
