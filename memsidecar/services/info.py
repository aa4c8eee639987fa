"""What a client is talking to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """`embedding_model` is empty and `embedding_dimensions` 0 when nothing is found by vectors."""

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
