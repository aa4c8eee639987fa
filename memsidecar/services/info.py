"""What a client is talking to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace


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
    """`dimensions` gives those of the moment: 0 until a model that is away has told them."""

    def __init__(self, info: ServerInfo, dimensions: Callable[[], int]) -> None:
        self._info, self._dimensions = info, dimensions

    def __call__(self) -> ServerInfo:
        return replace(self._info, embedding_dimensions=self._dimensions())
