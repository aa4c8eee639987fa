"""An Embedder in front of another one. One cache has one embedder, so one space: the hash of the text is the key."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.embeddable import embeddable
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix
from memsidecar.ports.models import Embedder

Row: TypeAlias = NDArray[np.float32]
Fetch: TypeAlias = "asyncio.Task[dict[bytes, Row]]"

ENTRY_OVERHEAD = 350
"""Bytes that an entry takes besides its numbers: the key, the array's header and a place in the ordered dict."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    hits: int
    """Texts answered from memory, or by a call for the same text that was under way."""
    misses: int
    entries: int
    bytes: int


class CachedEmbedder:
    """The inner embedder's vectors, the most recently used of them kept within `max_bytes`.

    A text that is being embedded is not asked for again: whoever wants it meanwhile waits for the same call. Such a
    call goes on when its caller is cancelled, as others may wait for it and its vectors are kept, until `abandon`.
    """

    def __init__(self, inner: Embedder, max_bytes: int) -> None:
        self._inner = inner
        self._max_bytes = max_bytes
        self._rows: OrderedDict[bytes, Row] = OrderedDict()
        self._pending: dict[bytes, Fetch] = {}
        self._fetches: set[Fetch] = set()
        self._waiting: dict[Fetch, int] = {}
        self._bytes = 0
        self._hits = 0
        self._misses = 0
        self._closed = False

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def max_chars(self) -> int:
        return self._inner.max_chars

    @property
    def stats(self) -> CacheStats:
        return CacheStats(self._hits, self._misses, len(self._rows), self._bytes)

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """See the port. The matrix is the caller's own."""
        if self._closed:
            raise ModelUnavailable(self.model, "is closed")
        accepted = embeddable(texts, self.max_chars)
        if not accepted:
            return await self._inner.embed(accepted)
        keys = [_key(text) for text in accepted]
        found: dict[bytes, Row] = {}
        waiting: set[Fetch] = set()
        missing: dict[bytes, str] = {}
        for key, text in zip(keys, accepted, strict=True):
            if key in found or key in missing:
                self._hits += 1
            elif (row := self._rows.get(key)) is not None:
                self._rows.move_to_end(key)
                self._hits += 1
                found[key] = row
            elif (fetch := self._pending.get(key)) is not None:
                self._hits += 1
                waiting.add(fetch)
            else:
                self._misses += 1
                missing[key] = text
        if missing:
            waiting.add(self._start(missing))
        for fetch in waiting:
            self._waiting[fetch] = self._waiting.get(fetch, 0) + 1
        try:
            for fetch in waiting:
                found.update(await asyncio.shield(fetch))
        finally:
            for fetch in waiting:
                self._waiting[fetch] -= 1
                if not self._waiting[fetch]:
                    del self._waiting[fetch]
        return np.stack([found[key] for key in keys])

    def forget(self, texts: Iterable[str]) -> None:
        """Drops the vectors of these texts; those that are on their way are handed over but not kept."""
        for text in texts:
            key = _key(text[: self.max_chars])
            self._pending.pop(key, None)
            if (row := self._rows.pop(key, None)) is not None:
                self._bytes -= row.nbytes + ENTRY_OVERHEAD

    def abandon(self, text: str) -> None:
        """See the port."""
        key = _key(text[: self.max_chars])
        fetch = self._pending.get(key)
        if fetch is not None and fetch not in self._waiting:
            # Not when it is over: whoever asks until then would be cancelled with it.
            self._pending = {key: other for key, other in self._pending.items() if other is not fetch}
            fetch.cancel()

    async def close(self) -> None:
        """Closes the inner embedder too; calls under way end as it ends them."""
        self._closed = True
        await self._inner.close()
        if self._fetches:
            await asyncio.wait(self._fetches)
        self._rows.clear()
        self._bytes = 0

    def _start(self, missing: dict[bytes, str]) -> Fetch:
        fetch = asyncio.get_running_loop().create_task(self._fetch(missing))
        self._fetches.add(fetch)
        fetch.add_done_callback(self._finished)
        for key in missing:
            self._pending[key] = fetch
        return fetch

    async def _fetch(self, missing: dict[bytes, str]) -> dict[bytes, Row]:
        this = asyncio.current_task()
        try:
            rows = await self._inner.embed(list(missing.values()))
        except BaseException:
            self._release(missing, this)
            raise
        kept = set(self._release(missing, this))
        answer: dict[bytes, Row] = {}
        for key, row in zip(missing, rows, strict=True):
            answer[key] = row.copy()  # a view would keep the whole matrix in memory
            if key in kept:
                self._keep(key, answer[key])
        return answer

    def _release(self, missing: dict[bytes, str], fetch: asyncio.Task[object] | None) -> list[bytes]:
        """Those keys that are still this call's: not forgotten, nor asked for again since."""
        mine = [key for key in missing if self._pending.get(key) is fetch]
        for key in mine:
            del self._pending[key]
        return mine

    def _keep(self, key: bytes, row: Row) -> None:
        self._rows[key] = row
        self._bytes += row.nbytes + ENTRY_OVERHEAD
        while self._bytes > self._max_bytes and self._rows:
            _, oldest = self._rows.popitem(last=False)
            self._bytes -= oldest.nbytes + ENTRY_OVERHEAD

    def _finished(self, fetch: Fetch) -> None:
        self._fetches.discard(fetch)
        if not fetch.cancelled():
            fetch.exception()  # read, so that a failure nobody waited for is not reported as lost


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
