"""The work of a write that needs no partition: names, tokens, vectors. Done before any lock is held."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from memsidecar.domain.draft import Draft
from memsidecar.domain.errors import DimensionMismatch, ModelUnavailable
from memsidecar.domain.events import Matrix, Vectors
from memsidecar.domain.identity import digest_of
from memsidecar.domain.indexed_text import embedded_text, indexed_text
from memsidecar.domain.memory import Body
from memsidecar.domain.mentions import Mention, find_mentions
from memsidecar.domain.text import chunks
from memsidecar.domain.tokens import token_counts
from memsidecar.ports.models import Embedder, EmbeddingCache
from memsidecar.services.long_texts import is_long
from memsidecar.services.patience import seconds_left
from memsidecar.services.turn import Turn

_log = logging.getLogger(__name__)

# Neighbouring chunks share this part of their length, so that a sentence on a border is whole in one of them (L5).
CHUNK_OVERLAP = 0.15
# Texts sent to the embedder in one call; the most that embedding.batch can ask for.
EMBED_BATCH = 64
# What every further text adds to the time that a write waits for its vectors: the slowest local model takes half a
# second for a full chunk of Chinese.
SECONDS_A_TEXT = 0.6
# The part of the time left to the caller that its vectors may take: an answer that comes too late stores nothing, and
# the same call made again would be too late again.
EMBEDDING_SHARE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What was found in a body: names, the terms of its indexed text, and its digest as that agent's memory.

    `vectors` is None when they are due.
    """

    mentions: tuple[Mention, ...]
    text: str
    terms: Counter[str]
    digest: bytes
    vectors: Vectors | None = None


class TextRefused(ModelUnavailable):
    """The provider answers, but not for the body at `position` of those given."""

    def __init__(self, provider: str, position: int) -> None:
        super().__init__(provider, "refuses a text")
        self.position = position


class _Refused(Exception):
    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Space:
    """The embedding space of this store: its model, and the embedder, if there is one.

    `dimensions` given as 0 are the embedder's, which may know them after its first answer only.
    """

    def __init__(
        self,
        model: str,
        dimensions: int,
        embedder: Embedder | None,
        timeout: float,
        cache: EmbeddingCache | None = None,
    ) -> None:
        self.model, self._dimensions, self._embedder, self._timeout = model, dimensions, embedder, timeout
        self._cache = cache

    @property
    def dimensions(self) -> int:
        """0 while nobody knows."""
        if not self._dimensions and self._embedder is not None:
            self._dimensions = self._embedder.dimensions
        return self._dimensions

    @property
    def embeds(self) -> bool:
        return self._embedder is not None

    def check(self, given: Vectors) -> Vectors:
        """The caller's vectors as vectors of this space. Raises DimensionMismatch, and ModelUnavailable while the model
        has not told its size."""
        if not self.dimensions:
            raise ModelUnavailable(self.model, "has not told its dimensions yet; retry, or set embedding.dimensions")
        if given.dimensions != self.dimensions or given.model not in ("", self.model):
            raise DimensionMismatch(self.model, self.dimensions, given.model, given.dimensions)
        return Vectors(self.model, given.rows)

    async def embed_query(self, text: str) -> Vectors | None:
        """One vector, None without an embedder. Raises ModelUnavailable. When it is cancelled, the model's work ends,
        too: nobody will ask the same soon."""
        if self._embedder is None:
            return None
        text = text[: self._embedder.max_chars]
        try:
            return Vectors(self.model, await self._embedder.embed([text]))
        except asyncio.CancelledError:
            if self._cache is not None:
                self._cache.abandon(text)
            raise

    async def embed_bodies(self, bodies: Sequence[Body], at_most: float | None = None) -> list[Vectors]:
        """The chunk vectors of each body, in order, within `at_most` seconds.

        Raises TextRefused when the provider names the text that it does not take, ModelUnavailable for everything else,
        also when it takes too long.
        """
        embedder = self._embedder
        if embedder is None:
            raise ModelUnavailable("none", "is not configured")
        if not bodies:
            return []
        pieces: list[list[str]] = []
        turn = Turn()
        for body in bodies:
            pieces.append(await _pieces_of(body, embedder.max_chars))
            await turn.give()
        flat = [piece for group in pieces for piece in group]
        limit = self._timeout + SECONDS_A_TEXT * len(flat)
        try:
            async with asyncio.timeout(limit if at_most is None else min(limit, at_most)):
                parts = [await _embed(embedder, flat, i) for i in range(0, len(flat), EMBED_BATCH)]
        except TimeoutError as error:
            raise ModelUnavailable(self.model, "took too long") from error
        except _Refused as refused:
            owners = [owner for owner, group in enumerate(pieces) for _ in group]
            raise TextRefused(self.model, owners[refused.position]) from refused
        rows = np.concatenate(parts) if len(parts) != 1 else parts[0]
        vectors, start = [], 0
        for group in pieces:
            vectors.append(Vectors(self.model, rows[start : start + len(group)]))
            start += len(group)
        return vectors

    async def forget(self, body: Body) -> None:
        """Drop what the embedding cache knows of a text."""
        if self._cache is not None and self._embedder is not None:
            self._cache.forget(await _pieces_of(body, self._embedder.max_chars))


async def _embed(embedder: Embedder, texts: list[str], start: int) -> Matrix:
    """Vectors of one call's worth of texts. Raises _Refused, with the position among all texts."""
    try:
        return await embedder.embed(texts[start : start + EMBED_BATCH])
    except ModelUnavailable as error:
        position = error.metadata.get("position")
        if position is None:
            raise
        raise _Refused(start + int(position)) from error


async def _pieces_of(body: Body, size: int) -> list[str]:
    return await asyncio.to_thread(_pieces, body, size) if is_long(embedded_text(body)) else _pieces(body, size)


def _pieces(body: Body, size: int) -> list[str]:
    """The chunks that stand for a text, none of them blank: an embedder takes no empty text."""
    return [p if p.strip() else "." for p in chunks(embedded_text(body), size, int(size * CHUNK_OVERLAP))]


class Preparing:
    def __init__(self, space: Space) -> None:
        self._space = space

    @property
    def embeds(self) -> bool:
        """Whether vectors are made here: what has none gets them later."""
        return self._space.embeds

    async def __call__(self, drafts: Sequence[Draft], *, embed: bool) -> list[Prepared]:
        """Names and tokens of every draft; its vectors, when the caller gave them, or `embed` and the model answers in
        good time.

        Raises DimensionMismatch for a caller's vectors that do not fit.
        """
        given = [self._space.check(d.embedding) if d.embedding is not None else None for d in drafts]
        missing = [i for i, vectors in enumerate(given) if vectors is None]
        if embed and missing and self._space.embeds:
            left = seconds_left()
            at_most = None if left is None else left * EMBEDDING_SHARE
            try:
                embedded = await self._space.embed_bodies([drafts[i].body for i in missing], at_most)
                for i, made in zip(missing, embedded, strict=True):
                    given[i] = made
            except ModelUnavailable as error:
                _log.warning("embedding postponed", extra={"memories": len(missing), "problem": str(error)})
        prepared = []
        turn = Turn()
        for draft, vectors in zip(drafts, given, strict=True):
            prepared.append(replace(await self.read(draft.body, draft.agent), vectors=vectors))
            await turn.give()
        return prepared

    async def read(self, body: Body, agent: str) -> Prepared:
        """What is to be found in a text; never holds the loop for long."""
        text = indexed_text(body)
        if is_long(text):
            return await asyncio.to_thread(_read, body, text, agent)
        return _read(body, text, agent)


def _read(body: Body, text: str, agent: str) -> Prepared:
    return Prepared(find_mentions(embedded_text(body)), text, token_counts(text), digest_of(body, agent))
