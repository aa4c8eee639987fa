"""LangGraph's stores: `memory` is InMemoryStore, `sqlite` SqliteStore with sqlite-vec, as documented."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.serving import HITS, Lookup, Question, Vectors, peak_bytes, serve


class LangGraphRunner:
    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._vectors = Lookup()
        self._closing = ExitStack()
        self._count = 0
        self._store: Any = None
        self._put: Any = None

    def open(self, folder: Path) -> None:
        from langgraph.store.base import PutOp

        self._put = PutOp
        if self._kind == "memory":
            from langgraph.store.memory import InMemoryStore

            self._store = InMemoryStore(index={"dims": 384, "embed": self._vectors, "fields": ["text"]})
        else:
            from langgraph.store.sqlite import SqliteStore

            folder.mkdir(exist_ok=True)
            self._store = self._closing.enter_context(
                SqliteStore.from_conn_string(
                    str(folder / "store.db"), index={"dims": 384, "embed": self._vectors, "text_fields": ["text"]}
                )
            )
            self._store.setup()

    def versions(self) -> Mapping[str, str]:
        import sqlite3

        own = {name: version(name) for name in ("langgraph", "langgraph-checkpoint", "numpy")}
        if self._kind == "sqlite":
            own |= {name: version(name) for name in ("langgraph-checkpoint-sqlite", "sqlite-vec")}
            own["sqlite"] = sqlite3.sqlite_version
        return own | {"python": sys.version.split()[0]}

    def store(self, user: str, texts: Sequence[str], vectors: Vectors) -> None:
        self._vectors.storing(texts, vectors)
        first, self._count = self._count, self._count + len(texts)
        namespace = (user, "memories")
        self._store.batch([self._put(namespace, str(first + n), {"text": text}) for n, text in enumerate(texts)])

    def settle(self) -> float:
        return 0.0

    def search(self, mode: str, question: Question) -> Any:
        self._vectors.asking(question)
        return self._store.search((question.user, "memories"), query=question.text, limit=HITS)

    def texts(self, answer: Any) -> list[str]:
        return [item.value["text"] for item in answer]

    def peak_bytes(self) -> int:
        return peak_bytes()

    def close(self) -> None:
        self._closing.close()


if __name__ == "__main__":
    serve(LangGraphRunner(sys.argv[1]))
