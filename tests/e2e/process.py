"""Starting, asking and looking into real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.sidecar import ROOT, Sidecar

# Callers bring the vectors: the process starts a second sooner than with a model, and every answer is determined.
DIMENSIONS = 16
CLIENT_VECTORS = {
    "embedding.provider": "client",
    "embedding.dimensions": str(DIMENSIONS),
    "embedding.model": "test-vectors",
}
# Nor does it read a vocabulary, half a second more: for tests that count no tokens.
LIGHT = {**CLIENT_VECTORS, "tokenizer": "estimate"}


class Launch:
    """Starts sidecars and remembers them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[Sidecar] = []

    def __call__(
        self, settings: Mapping[str, str] | None = None, *, data: Path | None = None, start: bool = True
    ) -> Sidecar:
        """A sidecar on `data` (default: `data` in the test's folder) that answers; LIGHT unless set."""
        sidecar = Sidecar(data or self.folder / "data", {**LIGHT, **(settings or {})})
        self._started.append(sidecar)
        if start:
            sidecar.start()
        return sidecar

    def close(self) -> None:
        for sidecar in self._started:
            sidecar.close()


def flags(settings: Mapping[str, str] | None = None) -> list[str]:
    """The command line's words for the settings of `Launch`."""
    chosen = {**LIGHT, **(settings or {})}
    return [f"--{key.replace('_', '-')}={value}" for key, value in chosen.items()]


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def run(*words: str, timeout: float = 60.0) -> Ran:
    """`memsidecar <words>`."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMSIDECAR_")}
    environment["PYTHONPATH"] = os.pathsep.join((str(ROOT), str(ROOT / "clients" / "python")))
    done = subprocess.run(
        [sys.executable, "-m", "memsidecar", *words], capture_output=True, text=True, timeout=timeout, env=environment
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Verified:
    """What `memsidecar verify` said: its exit code, and (store, partition, problem) of each finding."""

    code: int
    findings: tuple[tuple[str, str, str], ...]


def verify(data: Path, settings: Mapping[str, str] | None = None, *more: str) -> Verified:
    """`memsidecar verify` on a directory that no process uses."""
    ran = run("verify", "--json", f"--data-dir={data}", *flags(settings), *more)
    assert ran.code in (0, 1), ran.err
    rows = json.loads(ran.out)["findings"]
    return Verified(ran.code, tuple((row["store"], row["partition"], row["problem"]) for row in rows))


CLEAN = Verified(0, ())


def session_server(sidecar: Sidecar) -> psutil.Process:
    """The private Redis-protocol server of a sidecar."""
    (child,) = [c for c in psutil.Process(sidecar.pid).children() if "server" in c.name()]
    return child


def until(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    """Waits for what has no event."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.02)


def gone(process: psutil.Process) -> bool:
    """Whether a process has ended (a zombie has)."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
