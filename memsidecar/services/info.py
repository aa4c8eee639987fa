"""What a client is talking to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """`embedding_model` is empty when callers bring their own vectors of unnamed origin."""

    version: str
    embedding_model: str
    embedding_dimensions: int
    tokenizers: tuple[str, ...]
    default_namespace: str
    graph_engine: str


class Info:
    def __init__(self, info: ServerInfo) -> None:
        self._info = info

    def __call__(self) -> ServerInfo:
        return self._info
