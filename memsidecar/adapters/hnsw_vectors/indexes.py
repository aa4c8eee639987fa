"""Makes and loads the vector indexes of all partitions."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from memsidecar.adapters.hnsw_vectors.contents import Contents
from memsidecar.adapters.hnsw_vectors.index import HnswVectorIndex
from memsidecar.adapters.hnsw_vectors.settings import HnswSettings
from memsidecar.adapters.hnsw_vectors.snapshot import read_snapshot


class HnswVectorIndexes:
    """VectorIndexes. Owns the threads in which its indexes are maintained, saved and loaded; they start when needed.

    Two workers let one partition be loaded or saved while another one is built.
    """

    def __init__(self, settings: HnswSettings | None = None, workers: int = 2) -> None:
        self._settings = settings or HnswSettings()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="vectors")

    def create(self, dimensions: int) -> HnswVectorIndex:
        if dimensions < 0:
            raise ValueError("an index has at least one dimension")
        return HnswVectorIndex(Contents(dimensions), self._settings, self._threads)

    async def load(self, folder: Path, dimensions: int, mark: int = 0) -> HnswVectorIndex | None:
        if not dimensions:
            return None
        read = partial(read_snapshot, folder, dimensions, mark, self._settings.build_threads)
        contents = await asyncio.get_running_loop().run_in_executor(self._threads, read)
        return None if contents is None else HnswVectorIndex(contents, self._settings, self._threads)

    async def close(self) -> None:
        """Joins the threads. Close the indexes first: one that is still being built is waited for."""
        await asyncio.to_thread(self._threads.shutdown)
