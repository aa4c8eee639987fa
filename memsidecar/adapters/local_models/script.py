"""The correction of e5: how much of a text is Chinese, Japanese or Korean, and which mean to subtract for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.events import Matrix

MEANS = Path(__file__).with_name("script_means.npz")
"""Made by `python -m memsidecar.adapters.local_models.calibrate`."""

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ALPHABETIC = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u04ff]")
_LETTERS_PER_CJK = 3
"""About as many letters say as much as one character of Chinese."""


def cjk_share(text: str) -> float:
    """0 for text without Chinese, Japanese or Korean, 1 for text of nothing else; digits and signs do not count."""
    cjk = len(_CJK.findall(text))
    if not cjk:
        return 0.0
    return cjk / (cjk + len(_ALPHABETIC.findall(text)) / _LETTERS_PER_CJK)


@dataclass(frozen=True, slots=True, eq=False)
class ScriptMeans:
    """The mean vectors of generic sentences in an alphabet and in Chinese characters, before the correction."""

    alphabetic: NDArray[np.float32]
    cjk: NDArray[np.float32]

    def at(self, share: NDArray[np.float32]) -> Matrix:
        """The mean for each CJK share: float32 (len(share), dimensions)."""
        weight = share[:, None]
        return (1 - weight) * self.alphabetic + weight * self.cjk

    def write(self, path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, alphabetic=self.alphabetic, cjk=self.cjk)

    @classmethod
    def read(cls, path: Path) -> ScriptMeans:
        with np.load(path, allow_pickle=False) as data:
            return cls(data["alphabetic"], data["cjk"])
