"""The shipped correction is what the command computes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from memsidecar.adapters.local_models.script import MEANS, ScriptMeans


def test_the_command_computes_the_shipped_file(tmp_path: Path) -> None:
    target = tmp_path / "means.npz"
    subprocess.run([sys.executable, "-m", "memsidecar.adapters.local_models.calibrate", str(target)], check=True)
    computed, shipped = ScriptMeans.read(target), ScriptMeans.read(MEANS)
    for mean in (shipped.alphabetic, shipped.cjk):
        assert mean.dtype == np.float32
        assert mean.shape == (384,)
    # Other instruction sets round the 4-bit products differently in the last places.
    assert np.allclose(computed.alphabetic, shipped.alphabetic, atol=1e-3)
    assert np.allclose(computed.cjk, shipped.cjk, atol=1e-3)
