"""e5 and USE side by side in one vector of 896 dimensions: the best recall of the three, at e5's price."""

from __future__ import annotations

import numpy as np

from memsidecar.adapters.local_models.e5 import E5Encoder
from memsidecar.adapters.local_models.use import UseEncoder
from memsidecar.domain.events import Matrix

E5_SHARE = 0.6
"""How much of the cosine is e5's; the rest is USE's. The squares of the two scales add up to 1: rows stay unit."""


class CombinedEncoder:
    provider = "use+e5"
    model = f"{E5Encoder.model}+{UseEncoder.model}+w{E5_SHARE}"
    dimensions = E5Encoder.dimensions + UseEncoder.dimensions
    max_chars = min(E5Encoder.max_chars, UseEncoder.max_chars)
    slice_chars = E5Encoder.slice_chars

    def __init__(self) -> None:
        self._e5 = E5Encoder()
        self._use = UseEncoder()

    def load(self) -> None:
        self._e5.load()
        self._use.load()

    def encode(self, texts: list[str]) -> Matrix:
        rows = np.empty((len(texts), self.dimensions), dtype=np.float32)
        rows[:, : E5Encoder.dimensions] = self._e5.encode(texts)
        rows[:, : E5Encoder.dimensions] *= np.float32(np.sqrt(E5_SHARE))
        rows[:, E5Encoder.dimensions :] = self._use.encode(texts)
        rows[:, E5Encoder.dimensions :] *= np.float32(np.sqrt(1 - E5_SHARE))
        return rows
