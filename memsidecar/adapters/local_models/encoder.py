"""What LocalEmbedder needs from a model. Every method runs in the embedder's one thread."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from memsidecar.domain.events import Matrix


class Encoder(Protocol):
    @property
    def provider(self) -> str:
        """The word in `embedding.provider`; names the encoder in errors."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_chars(self) -> int: ...

    @property
    def slice_chars(self) -> int:
        """Characters to encode in one go: as many as fill the model, as few as let another caller in soon."""
        ...

    def load(self) -> None:
        """Blocks until the model is in memory; the second time it returns at once.

        Raises ModelUnavailable, saying what to do, when it cannot be.
        """
        ...

    def encode(self, texts: list[str]) -> Matrix:
        """float32 (len(texts), dimensions), rows of length 1. Loaded, and not empty, is the caller's promise."""
        ...


def unit(rows: Matrix) -> Matrix:
    """The rows, each scaled to length 1."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-9), dtype=np.float32)
