"""GraphStore on kuzu or ladybug: one thread writes, two read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from memsidecar.adapters.kuzu_graph import judging, reading
from memsidecar.adapters.kuzu_graph.core import Core
from memsidecar.adapters.kuzu_graph.driver import EngineError, Link, load
from memsidecar.adapters.kuzu_graph.worker import Worker
from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.fold import Edge, Relation
from memsidecar.domain.scope import Partition
from memsidecar.domain.ties import Tie
from memsidecar.ports.graph import GraphChange, GraphConflict, GraphNode, Neighbour

_P = ParamSpec("_P")
_T = TypeVar("_T")

_READERS = 2
_IDLE_SECONDS = 30.0


class KuzuGraph:
    """A GraphStore in files of its own directory. Make one with `open`.

    Changes up to `applied` are skipped, later ones are folded into one transaction.
    """

    def __init__(self, core: Core, writer: Worker) -> None:
        self._core = core
        self._writer = writer
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="graph-read")
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        directory: Path,
        engine: str = "kuzu",
        buffer_pool_bytes: int = 256 << 20,
        *,
        min_free_bytes: int = 256 << 20,
        lock_wait_seconds: float = 2.0,
    ) -> KuzuGraph:
        """Open or create the graph under `directory`; damaged files, or another engine's, are set aside (`rebuilt`).

        `engine` is kuzu or ladybug, one of them for the whole process. Less than `min_free_bytes` of free disk refuses
        writes. Raises StoreUnavailable when another process, or another opening in this one, has the files.
        """
        core = Core(directory, load(engine), buffer_pool_bytes, min_free_bytes)
        writer = Worker("graph-write", _IDLE_SECONDS, core.idle)
        try:
            await _outcome(writer.submit(core.open, lock_wait_seconds))
        except BaseException:
            writer.stop()
            raise
        return cls(core, writer)

    @property
    def rebuilt(self) -> str:
        return self._core.rebuilt

    @property
    def needs_rebuild(self) -> bool:
        """Whether the file holds mostly dead space: `reset` and replay the ledger when convenient."""
        return self._core.needs_rebuild

    async def applied(self) -> int:
        return self._core.applied

    async def apply(self, changes: Sequence[GraphChange]) -> None:
        await self._write(self._core.apply, changes)

    async def node(self, partition: Partition, memory_id: str) -> GraphNode | None:
        return await self._read(reading.node, partition, memory_id)

    async def nodes(self, partition: Partition, after: str, limit: int) -> Sequence[GraphNode]:
        return await self._read(reading.nodes, partition, after, limit)

    async def edges(
        self, partition: Partition, memory_ids: Sequence[str], relations: Collection[Relation] = ()
    ) -> Sequence[Edge]:
        return await self._read(reading.edges, partition, memory_ids, relations)

    async def neighbours(
        self,
        partition: Partition,
        starts: Sequence[str],
        depth: int,
        limit: int,
        relations: Collection[Relation] = (),
    ) -> Sequence[Neighbour]:
        return await self._read(reading.neighbours, partition, starts, depth, limit, relations)

    async def ties(self, partition: Partition, memory_ids: Sequence[str]) -> Sequence[Tie]:
        return await self._read(judging.ties, partition, memory_ids)

    async def conflicts(self, partition: Partition, after: str, limit: int) -> Sequence[GraphConflict]:
        return await self._read(judging.conflicts, partition, after, limit)

    async def count(self, partition: Partition) -> int:
        return await self._read(reading.count, partition)

    async def checkpoint(self) -> None:
        await self._write(self._core.checkpoint)

    async def reset(self, reason: str, keep: bool = True) -> None:
        await self._write(self._core.reset, reason, keep)

    async def check(self) -> None:
        if self._core.failure:
            raise StoreUnavailable("graph", self._core.failure)
        await self._read(reading.node, Partition("", ""), "")

    async def close(self) -> None:
        """Waits for queued writes and for readers inside, at most their time limit of two seconds. Again: no effect."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            await _outcome(self._writer.submit(self._core.close))
        finally:
            await asyncio.to_thread(self._writer.stop)
            await asyncio.to_thread(self._readers.shutdown)

    async def _write(self, job: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if self._closing is not None:
            raise StoreUnavailable("graph", "is closed")
        return await _outcome(self._writer.submit(job, *args, **kwargs))

    async def _read(self, question: Callable[Concatenate[Link, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if self._closing is not None:
            raise StoreUnavailable("graph", "is closed")

        def ask() -> _T:
            with self._core.gate.shared():
                if self._core.session is None:
                    raise StoreUnavailable("graph", self._core.failure or "is closed")
                return question(self._core.session.read, *args, **kwargs)

        return await _outcome(self._readers.submit(ask))


async def _outcome(future: Future[_T]) -> _T:
    """The result of work in a thread, with the driver's words kept out of what callers see."""
    try:
        return await asyncio.wrap_future(future)
    except EngineError as error:
        interrupted = "interrupt" in str(error).lower()
        raise StoreUnavailable("graph", "took too long to answer" if interrupted else "failed; see the log") from error
    except OSError as error:
        raise StoreUnavailable("graph", "cannot use its files; see the log") from error
