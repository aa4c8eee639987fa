"""An Extractor whose calls are counted."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.adapters.measured_models.counting import counted, model_calls
from memsidecar.ports.extraction import Extracted, Extractor, Turn


class MeasuredExtractor:
    def __init__(self, inner: Extractor) -> None:
        self._inner = inner
        self.calls = model_calls()

    @property
    def model(self) -> str:
        return self._inner.model

    async def extract(self, turns: Sequence[Turn]) -> Sequence[Extracted]:
        """See the port."""
        with counted(self.calls, len(turns)):
            return await self._inner.extract(turns)

    async def close(self) -> None:
        await self._inner.close()
