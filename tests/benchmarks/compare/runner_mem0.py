"""mem0 with `infer=False` and its default local store, qdrant in the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.benchmarks.compare.serving import HITS, Lookup, Question, Vectors, peak_bytes, serve


class _Embedder:
    """What mem0 asks of an embedding model."""

    def __init__(self, vectors: Lookup) -> None:
        self._vectors = vectors
        self.config = SimpleNamespace(embedding_dims=384)

    def embed(self, text: str, memory_action: str | None = None) -> Vectors:
        return self._vectors([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[Vectors]:
        return self._vectors(texts)


class Mem0Runner:
    def __init__(self) -> None:
        self._vectors = Lookup()
        self._memory: Any = None

    def open(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder / "mem0"))
        from mem0 import Memory

        # The model clients are made and never asked: the embedder is replaced, and nothing is inferred.
        model = {"provider": "openai", "config": {"api_key": "unused"}}
        store = {"collection_name": "memories", "embedding_model_dims": 384, "path": str(folder / "qdrant")}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store | {"on_disk": True}},
                "llm": model,
                "embedder": model,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Embedder(self._vectors)

    def versions(self) -> Mapping[str, str]:
        names = ("mem0ai", "qdrant-client", "numpy")
        return {name: version(name) for name in names} | {"python": sys.version.split()[0]}

    def store(self, user: str, texts: Sequence[str], vectors: Vectors) -> None:
        self._vectors.storing(texts, vectors)
        messages = [{"role": "user", "content": text} for text in texts]
        self._memory.add(messages, user_id=user, infer=False)

    def settle(self) -> float:
        return 0.0

    def search(self, mode: str, question: Question) -> Any:
        self._vectors.asking(question)
        return self._memory.search(question.text, top_k=HITS, filters={"user_id": question.user})

    def texts(self, answer: Any) -> list[str]:
        return [hit["memory"] for hit in answer["results"]]

    def peak_bytes(self) -> int:
        return peak_bytes()

    def close(self) -> None:
        if self._memory is not None:
            self._memory.vector_store.client.close()
            self._memory.close()


if __name__ == "__main__":
    serve(Mem0Runner())
