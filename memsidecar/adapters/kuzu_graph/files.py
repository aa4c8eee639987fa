"""The graph's files: who owns them, whether they are what was written, and setting them aside.

Beside the engine's file lies `graph.json`: engine, versions, and size and checksum of the main file as of the last
checkpoint. Between checkpoints both engines write to their log only, so the main file must still match after any kill,
and is the graph as of the last checkpoint when opened without its log. That is how kuzu's is opened after an unclean
end: its log has no checksum, and what it held is in the ledger. Ladybug's log has; it is replayed.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from memsidecar.adapters.kuzu_graph import aside
from memsidecar.adapters.kuzu_graph.driver import Engine
from memsidecar.adapters.kuzu_graph.record import (
    CHECKPOINT,
    CREATING,
    NOT_HASHED,
    STABLE,
    Record,
    read,
    sync_directory,
    write,
)
from memsidecar.adapters.kuzu_graph.schema import SCHEMA_VERSION
from memsidecar.domain.errors import StoreUnavailable

log = logging.getLogger(__name__)

_BLOCK = 1 << 20
# Hashing is 1 GB/s or better; past this size an open would wait for it, and only the size is compared.
_HASHED = 256 << 20
# A checkpoint that crashes the process is repeated after the restart, and may crash it again.
_ATTEMPTS = 3


class Files:
    """Files of one engine under one directory. Used by one thread."""

    def __init__(self, directory: Path, engine: Engine) -> None:
        self._directory = directory
        self._engine = engine
        self.database = directory / f"graph.{engine.name}"
        self._wal, self._shadow, self._backup = (self._beside(suffix) for suffix in (".wal", ".shadow", ".bak"))
        self._opening = directory / "graph.opening"
        self._record_path = directory / "graph.json"
        self._lock = -1
        # Closing any descriptor of a file drops all POSIX locks that the process has on it, the engine's too. So one
        # descriptor serves every read of the main file and is closed after the engine only.
        self._reading = -1

    def acquire(self, wait_seconds: float) -> None:
        """Become the owner. Raises StoreUnavailable, with every file untouched, when another process is."""
        self._directory.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._directory / "graph.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + wait_seconds
        while not self._try_lock():
            if time.monotonic() >= deadline:
                self.release()
                raise StoreUnavailable("graph", "is locked by another process")
            time.sleep(0.05)

    def _try_lock(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.database.exists():
                # Someone may have opened the file with the engine itself.
                with self.database.open("r+b") as file:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def release(self) -> None:
        """Give up ownership. The engine is closed."""
        self.engine_closed()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def engine_closed(self) -> None:
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1

    @property
    def size(self) -> int:
        """Bytes of the main file."""
        return self.database.stat().st_size if self.database.exists() else 0

    @property
    def wal_size(self) -> int:
        return self._wal.stat().st_size if self._wal.exists() else 0

    @property
    def free(self) -> int:
        """Bytes free on the volume."""
        volume = os.statvfs(self._directory)
        return volume.f_bavail * volume.f_frsize

    @property
    def empty(self) -> bool:
        return not self._present()

    def problem(self) -> str:
        """Why these files must not be opened; "" when they may be. Undoes an interrupted checkpoint of kuzu first."""
        if self._opening.exists():
            return "the process died while the engine opened it"
        try:
            record = read(self._record_path)
        except (FileNotFoundError, ValueError, TypeError):
            return "its description graph.json is missing or unreadable"
        if record.engine != self._engine.name:
            return f"it was written by {record.engine}, not {self._engine.name}"
        if record.engine_version != self._engine.version:
            return f"it was written by {record.engine} {record.engine_version}, not {self._engine.version}"
        if record.schema_version != SCHEMA_VERSION:
            return f"it has schema {record.schema_version}, not {SCHEMA_VERSION}"
        if record.phase == CREATING:
            return "its creation was interrupted"
        if not self.database.exists():
            return "its file is missing"
        if record.attempts >= _ATTEMPTS:
            return f"none of its last {record.attempts} checkpoints came to an end"
        if record.phase == CHECKPOINT:
            if self._engine.checkpoint_is_safe:
                return ""
            if not self._backup.exists():
                return "a checkpoint was interrupted and the backup is missing"
            self._restore()
        if not self._matches(record):
            return "its file is not what was written at the last checkpoint"
        if not self._engine.log_is_checked:
            self._set_log_aside()
        if record.phase != STABLE:
            write(self._record_path, replace(record, phase=STABLE))
        self._backup.unlink(missing_ok=True)
        return ""

    def without_log(self) -> bool:
        """Set aside a log that the engine fails to replay; whether the main file can be trusted without it."""
        if not (self._wal.exists() and self.database.exists() and self._matches(read(self._record_path))):
            return False
        self._set_log_aside()
        return True

    def _matches(self, record: Record) -> bool:
        return self.size == record.size and record.checksum in (NOT_HASHED, self._checksum())

    def _set_log_aside(self) -> None:
        if self.wal_size or self._shadow.exists():
            files = [path for path in (self._wal, self._shadow) if path.exists()]
            target = aside.set_aside(self._directory, files, aside.LOG)
            log.warning("the graph goes back to its last checkpoint; its log is kept as %s", target.name)
            aside.forget_old_logs(self._directory)
        self._wal.unlink(missing_ok=True)

    @contextmanager
    def opening(self) -> Iterator[None]:
        """While the engine opens the files. A process that dies in here finds a `problem` at its next start."""
        with self._opening.open("w") as file:
            os.fsync(file.fileno())
        sync_directory(self._directory)
        try:
            yield
        finally:
            self._opening.unlink()
            sync_directory(self._directory)

    def creating(self) -> None:
        write(self._record_path, Record(self._engine.name, self._engine.version, SCHEMA_VERSION, CREATING))

    def opened(self) -> None:
        """The engine has opened the files, and finished a checkpoint that was interrupted, if it does so by itself."""
        record = read(self._record_path)
        if record.phase == CHECKPOINT:
            self._describe(record.attempts)

    def checkpoint_begins(self) -> None:
        """From here on a kill is answered by restoring the backup (kuzu), or left to the engine (ladybug)."""
        record = read(self._record_path)
        if record.phase == CREATING:
            return
        if not self._engine.checkpoint_is_safe:
            self._copy_database(self._backup)
        write(self._record_path, replace(record, phase=CHECKPOINT, attempts=record.attempts + 1))

    def checkpoint_ended(self) -> None:
        """The engine's file is the truth again."""
        self._describe(attempts=0)

    def _describe(self, attempts: int) -> None:
        name, version = self._engine.name, self._engine.version
        record = Record(name, version, SCHEMA_VERSION, STABLE, self.size, self._checksum(), attempts)
        write(self._record_path, record)
        self._backup.unlink(missing_ok=True)

    def set_aside(self) -> Path:
        """Move every file of the graph, of either engine, into a new folder beside it. The engine is closed."""
        self.engine_closed()
        return aside.set_aside(self._directory, self._present(), aside.GRAPH)

    def _present(self) -> list[Path]:
        return [
            path
            for path in sorted(self._directory.glob("graph.*"))
            if path.is_file() and path.name != "graph.lock" and not path.name.endswith(".tmp")
        ]

    def _restore(self) -> None:
        log.warning("the graph was interrupted during a checkpoint; restoring the state from before it")
        # Copied, not moved: a kill in here starts over at the next open.
        _copy(self._backup, self.database)
        sync_directory(self._directory)

    def _descriptor(self) -> int:
        if self._reading < 0:
            self._reading = os.open(self.database, os.O_RDONLY | os.O_CLOEXEC)
        return self._reading

    def _checksum(self) -> int:
        size = self.size
        if size > _HASHED:
            return NOT_HASHED
        source, checksum = self._descriptor(), 0
        for offset in range(0, size, _BLOCK):
            checksum = zlib.crc32(os.pread(source, _BLOCK, offset), checksum)
        return checksum

    def _copy_database(self, target: Path) -> None:
        source = self._descriptor()
        with target.open("wb") as copy:
            for offset in range(0, self.size, _BLOCK):
                copy.write(os.pread(source, _BLOCK, offset))
            copy.flush()
            os.fsync(copy.fileno())

    def _beside(self, suffix: str) -> Path:
        return self.database.with_name(self.database.name + suffix)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as original, target.open("wb") as copy:
        while block := original.read(_BLOCK):
            copy.write(block)
        copy.flush()
        os.fsync(copy.fileno())
