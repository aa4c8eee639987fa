"""What the services need from models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memsidecar.domain.events import Matrix


class Embedder(Protocol):
    """Turns text into unit vectors of one space. Two embedders with one `model` give the same vectors."""

    @property
    def model(self) -> str:
        """Names the space: vendor, model and correction version. Stored with every vector."""
        ...

    @property
    def dimensions(self) -> int:
        """0 while the provider has not told it: the first vectors do."""
        ...

    @property
    def max_chars(self) -> int:
        """Code points of a text that one vector can stand for. Longer text is chunked by the caller."""
        ...

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """float32 (len(texts), dimensions), rows of length 1, in the order of `texts`; never blocks the event loop.

        Texts are not empty and hold no NUL and no lone surrogates; longer ones than `max_chars` are cut.
        Raises ModelUnavailable when the provider fails, refuses, or answers with the wrong number of rows or size.
        """
        ...

    async def close(self) -> None: ...


class EmbeddingCache(Protocol):
    """What remembers vectors by their text, beside the ledger: a purge has to reach it, too."""

    def forget(self, texts: Sequence[str]) -> None:
        """Drop the vectors of these texts; unknown ones are ignored."""
        ...

    def abandon(self, text: str) -> None:
        """End the call that embeds this text, if nobody waits for it any more."""
        ...


class Reranker(Protocol):
    """Judges how well texts answer a question. Optional: without it the order that they came in stands."""

    @property
    def model(self) -> str:
        """Vendor and model, for logs and reports."""
        ...

    async def rank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """A finite score for each text, in their order; higher is better, and only their order means anything.

        Texts are as for an Embedder. Tries once and gives up soon, because somebody waits; may be cancelled.
        Raises ModelUnavailable when the provider fails, refuses, takes too long, or does not score each text.
        """
        ...

    async def close(self) -> None: ...


class Tokenizer(Protocol):
    @property
    def names(self) -> tuple[str, ...]:
        """Encodings that `count` knows by name, the fallback first."""
        ...

    def resolve(self, name: str) -> str:
        """The encoding for a tokenizer or model name; empty means the fallback; an unknown model, too.

        Raises TokenizerUnknown for a name that is neither an encoding nor looks like a model name.
        """
        ...

    def count(self, text: str, encoding: str = "") -> int:
        """Tokens of `text`, without special tokens; offline; microseconds for a chat message."""
        ...
