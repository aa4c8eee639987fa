"""A Reranker whose calls are counted."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.adapters.measured_models.counting import counted, model_calls
from memsidecar.ports.models import Reranker


class MeasuredReranker:
    def __init__(self, inner: Reranker) -> None:
        self._inner = inner
        self.calls = model_calls()

    @property
    def model(self) -> str:
        return self._inner.model

    async def rank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """See the port."""
        with counted(self.calls, len(texts)):
            return await self._inner.rank(query, texts)

    async def close(self) -> None:
        await self._inner.close()
