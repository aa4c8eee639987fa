"""hnswlib as it was built for what this CPU can do.

It chooses its instructions when it is compiled, not when it runs. So an installation has one build for every CPU of the
architecture and, where `deploy/tools/hnswlib-v3.sh` made it, one for x86-64-v3 (AVX2 and FMA: servers since 2013), in
which a search takes half the time. The glibc loader chooses among its `glibc-hwcaps` folders in the same way.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

LEVEL = "x86-64-v3"
# https://gitlab.com/x86-psABIs/x86-64-ABI, as Linux names them: what a compiler may use of level 3 and below.
_FLAGS = frozenset("cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe".split())


def level_build(prefix: Path = Path(sys.prefix), cpuinfo: Path = Path("/proc/cpuinfo")) -> Path | None:
    """The extension built for this CPU's level, below the environment `prefix`; None where the portable one is used:
    there is no other, or `cpuinfo` (Linux's file) does not list all that it needs."""
    # For this interpreter: an environment may have been moved to another one.
    built = prefix / "lib" / LEVEL / f"hnswlib{EXTENSION_SUFFIXES[0]}"
    if not built.is_file():
        return None
    try:
        lines = cpuinfo.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return built if _FLAGS.issubset(flags) else None


def _load() -> Any:
    built = level_build()
    if built is None:
        return importlib.import_module("hnswlib")
    spec = importlib.util.spec_from_file_location("hnswlib", built)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hnswlib: Any = _load()
