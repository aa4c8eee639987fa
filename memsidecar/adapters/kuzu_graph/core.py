"""The open graph as the writer thread sees it: open, batches, checkpoints, recovery."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

from memsidecar.adapters.kuzu_graph.batch import fold
from memsidecar.adapters.kuzu_graph.driver import Engine, EngineError, Session, open_session
from memsidecar.adapters.kuzu_graph.files import Files
from memsidecar.adapters.kuzu_graph.gate import Gate
from memsidecar.adapters.kuzu_graph.schema import TABLES, definitions
from memsidecar.adapters.kuzu_graph.writing import Known, Writer
from memsidecar.domain.errors import StoreUnavailable
from memsidecar.ports.graph import GraphChange

log = logging.getLogger(__name__)

# Each updated node, purge or removed edge holds about 45 KB in memory until the next checkpoint.
_UPDATES = 1_500
# What kuzu has not checkpointed is applied again from the ledger after an unclean end: so many entries, or this part of
# the graph once that is more, since the price of a checkpoint there grows with the file.
_REPLAY_LEAST = 10_000
_REPLAY_PART = 20
_WAL_LEAST = 8 << 20
# So does the log in bytes.
_WAL_MOST = 64 << 20
# Tables, and one for each pair of tables that a relation joins, take some 70 MB however little is in them.
_REBUILD_LEAST = 512 << 20
# A freshly built graph with four edges a memory takes about 500 bytes a memory; kuzu never gives space back.
_FRESH_BYTES = 1_024
_BLOAT = 5

_UNREADABLE = "the engine cannot read it"

# After a short write in the log both engines abort the process in close(), and may do so in ROLLBACK. So the session is
# kept for reading, and never closed.
_DISK_FULL = "is out of disk space; free some and restart"

# One database a path a process: the engines' own locks do not see a second one, which then corrupts the heap.
_open_paths: set[Path] = set()
_open_paths_lock = threading.Lock()


class Core:
    """Every method but `gate` and `session` is the writer thread's alone."""

    def __init__(self, directory: Path, engine: Engine, buffer_pool_bytes: int, min_free_bytes: int) -> None:
        self._path = directory.resolve()
        self._engine = engine
        self._buffer_pool_bytes = buffer_pool_bytes
        self._min_free_bytes = min_free_bytes
        self._files = Files(self._path, engine)
        self._known = Known()
        self._failure = ""
        self._updates = 0
        self._checkpointed = 0
        self._nodes = 0
        self.gate = Gate()
        self.session: Session | None = None
        self.applied = 0
        self.rebuilt = ""

    def open(self, lock_wait_seconds: float) -> None:
        """Raises StoreUnavailable when someone else has the files, or the machine refuses; they are untouched then."""
        with _open_paths_lock:
            if self._path in _open_paths:
                raise StoreUnavailable("graph", "is open already in this process")
            _open_paths.add(self._path)
        try:
            self._files.acquire(lock_wait_seconds)
            self._open_or_rebuild()
        except BaseException:
            self._drop_session()
            self._release()
            raise

    def _open_or_rebuild(self) -> None:
        if self._files.empty:
            self._create()
            return
        problem = self._files.problem() or self._try_session()
        if problem == _UNREADABLE and self._files.without_log():
            problem = self._try_session()
        if problem:
            self._set_aside(problem)
            self.rebuilt = problem
            self._create()

    def _try_session(self) -> str:
        with self._files.opening():
            try:
                self._open_session()
                self._files.opened()
                self._checkpointed = self.applied
            except EngineError as error:
                self._drop_session()
                if error.environmental:
                    raise _unavailable(error) from error
                log.warning("the engine refuses the graph", exc_info=error)
                return _UNREADABLE
        return ""

    def _set_aside(self, reason: str) -> Path:
        target = self._files.set_aside()
        log.warning("the graph was set aside as %s: %s; it will be rebuilt from the ledger", target.name, reason)
        return target

    def _create(self) -> None:
        self._files.creating()
        self._known, self._failure, self._updates, self._nodes, self.applied = Known(), "", 0, 0, 0
        try:
            self.session = open_session(self._engine, self._files.database, self._buffer_pool_bytes)
            for definition in definitions():
                self.session.write.run(definition)
            self._checkpoint()
        except EngineError as error:
            raise _unavailable(error) from error

    def _open_session(self) -> None:
        self.session = open_session(self._engine, self._files.database, self._buffer_pool_bytes)
        link = self.session.write
        self.applied = int(link.run("MATCH (a:Applied) RETURN max(a.position)")[0][0] or 0)
        counts = [int(link.run(f"MATCH (n:{table}) RETURN count(n.key)")[0][0]) for table in TABLES.values()]
        owned = int(link.run("MATCH (:User)-[:OWNS]->() RETURN count(*)")[0][0])
        if self.applied < 0 or owned != sum(counts) or (owned and not self.applied):
            raise EngineError("the graph contradicts itself")
        self._known, self._failure, self._updates, self._nodes = Known(), "", 0, owned

    def apply(self, changes: Sequence[GraphChange]) -> None:
        session = self._writable()
        batch = fold(changes, self.applied)
        if batch.last <= self.applied:
            return
        if self._files.free < self._min_free_bytes:
            raise StoreUnavailable("graph", "is almost out of disk space")
        try:
            session.write.run("BEGIN TRANSACTION")
            writer = Writer(session.write, self._engine.single_rows, self._known)
            more, updated = writer.write(batch, self.applied)
            session.write.run("COMMIT")
        except EngineError as error:
            self._recover(error)
            # COMMIT can raise although it committed; the stored position decides.
            if self.applied < batch.last:
                raise _unavailable(error) from error
        except BaseException as error:
            self._recover(EngineError(repr(error)))
            raise
        else:
            self.applied = batch.last
            self._updates += updated
            self._nodes += more
            self._known.trim()
        if self._checkpoint_is_due():
            self._checkpoint_or_log()

    def _writable(self) -> Session:
        if self._failure or self.session is None:
            raise StoreUnavailable("graph", self._failure or "is closed")
        return self.session

    def _checkpoint_is_due(self) -> bool:
        if self._updates >= _UPDATES:
            return True
        replay = self.applied - self._checkpointed
        if not self._engine.log_is_checked and replay >= max(_REPLAY_LEAST, self._nodes // _REPLAY_PART):
            return True
        return self._files.wal_size >= min(max(_WAL_LEAST, self._files.size // 4), _WAL_MOST)

    def _recover(self, error: EngineError) -> None:
        """After a lost transaction: close and open again, since kuzu may crash later on. Raises StoreUnavailable."""
        log.warning("a graph transaction failed", exc_info=error)
        if error.disk_full:
            self._fail(_DISK_FULL)
            raise _unavailable(error) from error
        with self.gate.exclusive():
            self._roll_back()
            self._drop_session()
            try:
                # The log is replayed, on kuzu too: this process has just written it.
                with self._files.opening():
                    self._open_session()
            except EngineError as second:
                self._fail("cannot be opened again after a failed transaction")
                raise _unavailable(second) from second
        # What filled the buffer pool, if that was it, is let go by a checkpoint only.
        self._checkpoint_or_log()

    def _roll_back(self) -> None:
        if self.session is None:
            return
        try:
            self.session.write.run("ROLLBACK")
        except EngineError as error:
            # Most failures have rolled back by themselves; then there is none to end, and the session goes anyway.
            log.debug("nothing to roll back", exc_info=error)

    def _fail(self, failure: str) -> None:
        """Refuse writes from now on. Reads go on while the session lives."""
        self._failure = failure
        self._known = Known()

    def checkpoint(self) -> None:
        self._writable()
        if not self._files.wal_size:
            return
        try:
            self._prune_positions()
            if self._engine.checkpoint_is_safe:
                self._checkpoint()
            else:
                with self.gate.exclusive():
                    self._checkpoint()
                    self._reopen()
        except EngineError as error:
            full = error.disk_full
            self._fail(_DISK_FULL if full else "failed at a checkpoint; restart to restore it")
            raise _unavailable(error) from error

    def _checkpoint(self) -> None:
        if self.session is None:
            raise StoreUnavailable("graph", "is closed")
        if self._files.free < self._min_free_bytes + 2 * self._files.size:
            raise StoreUnavailable("graph", "has too little disk space for a checkpoint")
        self._files.checkpoint_begins()
        self.session.write.run("CHECKPOINT")
        self._files.checkpoint_ended()
        self._updates, self._checkpointed = 0, self.applied

    def _reopen(self) -> None:
        """After its checkpoint, kuzu may keep pointers to edges that were created and deleted since the one before.

        It then crashes at a later query or checkpoint (ladybug issue 611, never fixed in kuzu). They are in memory
        only, so opening the file anew, 10 to 60 ms, is rid of them, and of the memory that updates have taken.
        """
        known = self._known
        self._drop_session()
        with self._files.opening():
            self._open_session()
        self._known = known

    def _prune_positions(self) -> None:
        link = self._writable().write
        link.run("BEGIN TRANSACTION")
        link.run("MATCH (a:Applied) WHERE a.position < $applied DELETE a", {"applied": self.applied})
        link.run("COMMIT")

    def _checkpoint_or_log(self) -> None:
        """A batch that is committed stays acknowledged, whatever the checkpoint after it says."""
        try:
            self.checkpoint()
        except (StoreUnavailable, OSError) as error:
            log.warning("a checkpoint of the graph failed", exc_info=error)

    def idle(self) -> None:
        """A good moment for a checkpoint."""
        if self.session is not None and not self._failure and self._files.wal_size:
            self._checkpoint_or_log()

    @property
    def needs_rebuild(self) -> bool:
        """Whether the file has outgrown what is in it. Rebuilding from the ledger is the way to shrink it.

        Not EXPORT and IMPORT: that is a second way to fill a graph, to be kept correct beside the replay, which must
        work anyway, and it would carry over whatever damage the file has.
        """
        size = self._files.size
        return size > _REBUILD_LEAST and size > _BLOAT * _FRESH_BYTES * self._nodes

    @property
    def failure(self) -> str:
        return self._failure

    def reset(self, reason: str, keep: bool) -> None:
        with self.gate.exclusive():
            self._drop_session()
            old = self._set_aside(reason)
            self._create()
            if not keep:
                shutil.rmtree(old, ignore_errors=True)

    def close(self) -> None:
        """Checkpoint, so that the next start replays nothing; how much waits for it is bounded at any time."""
        self.idle()
        with self.gate.exclusive():
            self._drop_session()
            self._release()

    def _drop_session(self) -> None:
        session, self.session = self.session, None
        if session is None:
            return
        if self._failure == _DISK_FULL:
            session.abandon()
        else:
            session.close()
        self._files.engine_closed()

    def _release(self) -> None:
        self._files.release()
        with _open_paths_lock:
            _open_paths.discard(self._path)


def _unavailable(error: EngineError) -> StoreUnavailable:
    if error.locked:
        return StoreUnavailable("graph", "is locked by another process")
    return StoreUnavailable("graph", "is out of disk space" if error.disk_full else "failed; see the log")
