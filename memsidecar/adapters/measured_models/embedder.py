"""An Embedder whose calls are counted."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.adapters.measured_models.counting import counted, model_calls
from memsidecar.domain.events import Matrix
from memsidecar.ports.models import Embedder


class MeasuredEmbedder:
    """Behind the cache: what it counts is asked of the model itself."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.calls = model_calls()

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def max_chars(self) -> int:
        return self._inner.max_chars

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """See the port."""
        with counted(self.calls, len(texts)):
            return await self._inner.embed(texts)

    async def close(self) -> None:
        await self._inner.close()
