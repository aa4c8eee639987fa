"""Who is compared, and the environments they run in."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
_EXTENSIONS = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to search. `own`: the answer holds the asking user's memories only. `meaning`: by the vector alone."""

    name: str
    label: str
    own: bool = True
    meaning: bool = True


@dataclass(frozen=True, slots=True)
class System:
    """`requirements`: a file in the folder beside this, "" for this project's own environment."""

    name: str
    module: str
    modes: Sequence[Mode]
    arguments: Sequence[str] = ()
    requirements: str = ""
    loads_extensions: bool = False
    keeps: bool = True


OURS = System("memsidecar", "runner_memsidecar", (Mode("vector", "memsidecar"), Mode("words", "+words", meaning=False)))
SYSTEMS = (
    OURS,
    System("langgraph-memory", "runner_langgraph", (Mode("", "InMemoryStore"),), ("memory",), "langgraph", keeps=False),
    System(
        "langgraph-sqlite",
        "runner_langgraph",
        (Mode("", "SqliteStore"),),
        ("sqlite",),
        "langgraph",
        loads_extensions=True,
    ),
    System("chroma", "runner_chroma", (Mode("filter", "Chroma"), Mode("all", "Chroma all", own=False)), (), "chroma"),
    System("mem0", "runner_mem0", (Mode("", "mem0"),), (), "mem0"),
)


class Unavailable(Exception):
    """A system cannot run here; says why."""


def python_of(system: System, cache: Path) -> Path:
    """The interpreter with the system's packages in it, installed into a folder of `cache` when they are not yet.

    Raises Unavailable, with the reason.
    """
    if not system.requirements:
        return Path(sys.executable)
    python = _base_python(system)
    pins = _HERE / "requirements" / f"{system.requirements}.txt"
    digest = hashlib.sha256(pins.read_bytes() + str(python).encode()).hexdigest()[:12]
    folder = cache / f"{system.requirements}-{digest}"
    made, inside = folder / "complete", folder / "bin" / "python"
    if not made.exists():
        print(f"installing {system.requirements} into {folder}", flush=True)
        _run([str(python), "-m", "venv", "--clear", str(folder)])
        _run([str(inside), "-m", "pip", "install", "-q", "--no-input", "-r", str(pins)])
        made.touch()
    return inside


def default_cache() -> Path:
    """Environments are of use to the next run: several hundred MB each."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memsidecar-compare"


def _base_python(system: System) -> Path:
    """This Python, or the system's own where this one's sqlite3 cannot load extensions."""
    candidates = [Path(sys.executable), Path("/usr/bin/python3"), Path("/usr/local/bin/python3")]
    # One environment serves both stores of LangGraph, on one interpreter, so both ask for the same.
    if not system.loads_extensions and system.requirements != "langgraph":
        return candidates[0]
    for python in candidates:
        if python.exists() and subprocess.run([python, "-c", _EXTENSIONS], capture_output=True).returncode == 0:
            return python
    if system.loads_extensions:
        raise Unavailable("no Python here has a sqlite3 that loads extensions; Debian's does: apt-get install python3")
    return candidates[0]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"{' '.join(command)} failed: {done.stderr.strip().splitlines()[-1:]}")
