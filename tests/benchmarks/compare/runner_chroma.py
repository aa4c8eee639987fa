"""Chroma's persistent client: one collection with cosine distance, the user in each memory's metadata."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.serving import HITS, Question, Vectors, peak_bytes, serve


class ChromaRunner:
    """Mode `filter` asks for the user's memories, mode `all` for the collection's."""

    def __init__(self) -> None:
        self._client: Any = None
        self._collection: Any = None
        self._count = 0

    def open(self, folder: Path) -> None:
        import chromadb

        self._client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
        self._collection = self._client.get_or_create_collection(
            "memories", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def versions(self) -> Mapping[str, str]:
        return {"chromadb": version("chromadb"), "python": sys.version.split()[0]}

    def store(self, user: str, texts: Sequence[str], vectors: Vectors) -> None:
        first, self._count = self._count, self._count + len(texts)
        self._collection.add(
            ids=[str(first + n) for n in range(len(texts))],
            documents=list(texts),
            embeddings=vectors,
            metadatas=[{"user": user}] * len(texts),
        )

    def settle(self) -> float:
        return 0.0

    def search(self, mode: str, question: Question) -> Any:
        chosen = {"where": {"user": question.user}} if mode == "filter" else {}
        return self._collection.query(query_embeddings=question.vector[None], n_results=HITS, **chosen)

    def texts(self, answer: Any) -> list[str]:
        return list(answer["documents"][0])

    def peak_bytes(self) -> int:
        return peak_bytes()

    def close(self) -> None:
        self._collection = self._client = None


if __name__ == "__main__":
    serve(ChromaRunner())
