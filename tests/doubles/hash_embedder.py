"""An Embedder for tests of other parts: no model, microseconds, the same vectors on every machine."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from memsidecar.domain.embeddable import embeddable
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix

_SCATTER = 2654435761


class HashEmbedder:
    """Texts that share words or runs of three characters are close, all others nearly orthogonal.

    `calls` holds the texts of every call; set `failure` to have every call raise it.
    """

    def __init__(self, dimensions: int = 64, max_chars: int = 400, model: str = "hash") -> None:
        self.model = f"{model}@{dimensions}"
        self.dimensions = dimensions
        self.max_chars = max_chars
        self.calls: list[list[str]] = []
        self.failure: ModelUnavailable | None = None
        self._closed = False

    async def embed(self, texts: Sequence[str]) -> Matrix:
        if self._closed:
            raise ModelUnavailable(self.model, "is closed")
        accepted = embeddable(texts, self.max_chars)
        self.calls.append(accepted)
        if self.failure is not None:
            raise self.failure
        rows = np.zeros((len(accepted), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, accepted, strict=True):
            self._fill(row, text)
        return rows

    async def close(self) -> None:
        self._closed = True

    def _fill(self, row: Matrix, text: str) -> None:
        words = text.casefold()
        padded = f" {words} "
        features = [*words.split(), *(padded[start : start + 3] for start in range(len(padded) - 2))]
        for feature in features:
            scattered = (zlib.crc32(feature.encode()) * _SCATTER) & 0xFFFFFFFF
            row[scattered % self.dimensions] += 1.0 if scattered >> 31 else -1.0
        length = float(np.linalg.norm(row))
        if length:
            row /= length
        else:  # every feature met its opposite
            row[0] = 1.0
