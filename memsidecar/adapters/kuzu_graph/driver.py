"""kuzu and ladybug behind one small surface: open, run, close."""

from __future__ import annotations

import ctypes
import importlib
import logging
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memsidecar.domain.errors import StoreUnavailable

log = logging.getLogger(__name__)

ENGINES = ("kuzu", "ladybug")

_READ_TIMEOUT_MS = 2_000
# A connection keeps what it needs to run a plan, some 150 KiB of walks over many tables, until it is closed: dropping a
# prepared statement gives nothing back. Questions differ by the relations asked for, so there is no end of them. All of
# those without a choice of relations are about 50.
_READ_PLANS = 128
# RuntimeError is what the drivers raise; the others come from values that they cannot convert (a lone surrogate), and
# from what C++ throws over a damaged file.
_DRIVER_ERRORS = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, MemoryError)
# Each kuzu checkpoint uses up about 8 MiB of the address space that a database may ever have, and a file that has
# reached the limit cannot be opened again: so the engine's default (8 TiB), or at least 1 TiB where that is refused.
_SMALLEST_MAP = 1 << 40

Row = list[Any]
Parameters = dict[str, Any]


class EngineError(Exception):
    """What the driver said. Never leaves the adapter; callers of the port get a StoreUnavailable with this as cause."""

    @property
    def locked(self) -> bool:
        return "could not set lock" in str(self).lower()

    @property
    def disk_full(self) -> bool:
        # A write that was cut short is told as "Cannot write to file ... Error: Success".
        return re.search(r"no space left|cannot write to file|disk quota", str(self), re.IGNORECASE) is not None

    @property
    def environmental(self) -> bool:
        """The machine refuses, whatever is in the files: they must not be blamed for it."""
        pattern = r"could not set lock|mmap|permission denied|read-only file|too many open files|buffer pool"
        return self.disk_full or re.search(pattern, str(self), re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine's name, its imported module, and where the two differ."""

    name: str
    version: str
    module: Any

    @property
    def checkpoint_is_safe(self) -> bool:
        """Killed during a checkpoint, kuzu 0.11.3 leaves a file it cannot open; with readers inside it fails."""
        return self.name == "ladybug"

    @property
    def log_is_checked(self) -> bool:
        """kuzu replays a log with a flipped bit as it is, or crashes in it; ladybug's records have checksums."""
        return self.name == "ladybug"

    @property
    def single_rows(self) -> int:
        """Up to this many rows, a prepared statement for each beats one UNWIND.

        kuzu plans an UNWIND with MATCH as a scan of the table, ladybug as a look-up of each key.
        """
        return 20 if self.name == "ladybug" else 10


def load(name: str) -> Engine:
    """The engine, imported now: the two cannot be loaded into one process. Raises StoreUnavailable, ValueError."""
    if name not in ENGINES:
        raise ValueError(f"unknown graph engine {name!r}; known: {', '.join(ENGINES)}")
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise StoreUnavailable("graph", f"needs the package {name}, which cannot be imported here") from error
    return Engine(name, str(module.__version__), module)


class Link:
    """A connection. One thread at a time."""

    def __init__(self, engine: Engine, database: Any, read_only: bool) -> None:
        self._module = engine.module
        self._connection = engine.module.Connection(database)
        self._prepared: dict[str, Any] = {}
        self.plans = 0
        self._connection.set_max_threads_for_exec(1)
        if read_only:
            self._connection.set_query_timeout(_READ_TIMEOUT_MS)

    def run(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Plan and run a statement; all rows of its answer. Raises EngineError."""
        self.plans += 1
        return self._execute(text, dict(parameters or {}))

    def prepared(self, text: str, parameters: Parameters) -> list[Row]:
        """The same with the plan kept; the parameters have the same types each time. Raises EngineError."""
        try:
            statement = self._prepared.get(text)
            if statement is None:
                self.plans += 1
                statement = self._prepared[text] = self._module.PreparedStatement(self._connection, text, {})
        except _DRIVER_ERRORS as error:
            raise EngineError(str(error)) from error
        return self._execute(statement, parameters)

    def _execute(self, statement: Any, parameters: Parameters) -> list[Row]:
        try:
            result = self._connection.execute(statement, parameters)
            try:
                return list(result.get_all())
            finally:
                result.close()
        except _DRIVER_ERRORS as error:
            raise EngineError(str(error)) from error

    def close(self) -> None:
        self._prepared.clear()
        self._connection.close()

    def pin(self, keep: list[Any]) -> None:
        """Hand over what must not be finalised."""
        keep.append((self._connection, dict(self._prepared)))


class Session:
    """An open database: the writer's link, and one link for each thread that reads."""

    def __init__(self, engine: Engine, database: Any) -> None:
        self._engine = engine
        self._database = database
        self._readers: dict[int, Link] = {}
        self.write = Link(engine, database, read_only=False)
        self.write.run("CALL force_checkpoint_on_close=false")

    @property
    def read(self) -> Link:
        """The calling thread's link for reading, for one question: a later one may get another."""
        thread = threading.get_ident()
        link = self._readers.get(thread)
        if link is not None and link.plans >= _READ_PLANS:
            del self._readers[thread]
            link.close()
            link = None
        if link is None:
            link = self._readers[thread] = Link(self._engine, self._database, read_only=True)
        return link

    def close(self) -> None:
        """No reader may be inside. Readers' links go first: kuzu waits for them otherwise."""
        for link in self._readers.values():
            link.close()
        self._readers.clear()
        self.write.close()
        self._database.close()

    def abandon(self) -> None:
        """Leave the database open until the process ends: after a full disk both engines abort it in close()."""
        keep: list[Any] = [self._database]
        for link in (self.write, *self._readers.values()):
            link.pin(keep)
        _abandon(keep)


def _abandon(keep: list[Any]) -> None:
    # A reference that neither garbage collection nor interpreter shutdown takes back; a list in a module loses its own.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(keep))


def open_session(engine: Engine, path: Path, buffer_pool_bytes: int) -> Session:
    """Open or create the database file. Raises EngineError."""
    options: Parameters = {"buffer_pool_size": buffer_pool_bytes, "auto_checkpoint": False}
    try:
        database = _database(engine, path, options)
    except EngineError as error:
        if engine.name != "ladybug" or error.environmental or "wal" not in str(error).lower():
            raise
        # ladybug refuses a log with a damaged record; asked to, it stops at the last good commit. The ledger has more.
        log.warning("the graph's log is damaged; it is read up to its last intact commit")
        database = _database(engine, path, {**options, "throw_on_wal_replay_failure": False})
    try:
        return Session(engine, database)
    except EngineError:
        database.close()
        raise


def _database(engine: Engine, path: Path, options: Parameters) -> Any:
    try:
        return engine.module.Database(str(path), **options)
    except _DRIVER_ERRORS as error:
        if "mmap" not in str(error).lower():
            raise EngineError(str(error)) from error
        log.warning("the graph cannot map its default address space; trying %d bytes", _SMALLEST_MAP)
    try:
        return engine.module.Database(str(path), **options, max_db_size=_SMALLEST_MAP)
    except _DRIVER_ERRORS as error:
        raise EngineError(str(error)) from error
