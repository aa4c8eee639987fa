"""The same as `serve`, with an embedder that costs next to nothing: every text has one of the questions' vectors.

What text a generation is searched with is for the server to choose, so its client cannot send the vectors; this is what
is left of a recall during generation without the model.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from memsidecar.__main__ import main
from memsidecar.bootstrap import stores
from memsidecar.domain.events import Matrix
from tests.benchmarks.dataset import DIMENSIONS, Dataset
from tests.benchmarks.serve import with_echo


class TableEmbedder:
    model = "client"
    dimensions = DIMENSIONS
    max_chars = 8192

    def __init__(self) -> None:
        self._table = np.stack([vector for _, vector in Dataset().questions(500, words=False)])

    async def embed(self, texts: Sequence[str]) -> Matrix:
        rows: Matrix = self._table[[zlib.crc32(text.encode()) % len(self._table) for text in texts]]
        return rows

    async def close(self) -> None:
        pass


def _with_table() -> None:
    async def open_embedder(*_: Any) -> tuple[TableEmbedder, str, int]:
        return TableEmbedder(), TableEmbedder.model, DIMENSIONS

    replaced: Any = stores
    replaced._open_embedder = open_embedder


if __name__ == "__main__":
    with_echo()
    _with_table()
    sys.exit(main())
