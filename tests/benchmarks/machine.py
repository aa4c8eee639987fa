"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks.measuring import Samples, repeated

_PACKAGES = ("grpcio", "protobuf", "numpy", "hnswlib", "kuzu")


def describe(folder: Path) -> dict[str, object]:
    return {
        "machine": f"{os.cpu_count()} cores, {_cpu()}, load {os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _PACKAGES} | {"sqlite": sqlite3.sqlite_version},
        "disk": f"{folder}: fsync of 4 KiB {1000 * _fsync(folder).p50:.3f} ms (median)",
    }


class CommitProbe:
    """One SQLite commit with synchronous=FULL of so many bytes in one row, as the ledger's file is set up."""

    def __init__(self, folder: Path, size: int) -> None:
        self._db = sqlite3.connect(folder / "commit-probe.db", isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY, payload BLOB)")
        self._payload = os.urandom(size)

    def commit(self) -> None:
        self._db.execute("INSERT INTO probe (payload) VALUES (?)", (self._payload,))

    def close(self) -> None:
        self._db.close()


def _fsync(folder: Path) -> Samples:
    block = os.urandom(4096)
    path = folder / "fsync-probe"
    with path.open("wb", buffering=0) as file:

        def write() -> None:
            file.write(block)
            os.fdatasync(file.fileno())

        taken = repeated(write, 0.3)
    path.unlink()
    return taken


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
