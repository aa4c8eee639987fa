"""The wiring: what was opened is closed in the right order, however far the start came."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from memsidecar import bootstrap
from memsidecar.adapters.data_directory import DataDirectory
from memsidecar.adapters.kuzu_graph import KuzuGraph
from memsidecar.adapters.quicktok_tokenizer import QuicktokTokenizer
from memsidecar.adapters.redis_sessions import RedisSessions
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.adapters.valkey_server import ValkeyServer
from memsidecar.config import Config, Metrics
from memsidecar.config.models import Embedding
from memsidecar.domain.errors import InvalidField, StoreUnavailable
from memsidecar.server.app import Server
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.projector import GraphProjector
from memsidecar.services.residency import Residency


def config(tmp_path: Path) -> Config:
    return Config(data_dir=tmp_path / "data", embedding=Embedding(provider="none"), metrics=Metrics(port=0))


def left_over() -> tuple[set[str], list[int]]:
    """Threads of ours, and processes."""
    own = ("ledger", "graph", "vectors", "snapshot")
    threads = {t.name for t in threading.enumerate() if t.name.startswith(own)}
    return threads, [child.pid for child in psutil.Process().children()]


@pytest.mark.parametrize(
    ("owner", "stage"),
    [
        (KuzuGraph, "open"),
        (GraphProjector, "start"),
        (ValkeyServer, "start"),
        (RedisSessions, "connect"),
        (QuicktokTokenizer, "load"),
        (EmbeddingBacklog, "start"),
        (Server, "start"),
    ],
)
async def test_a_start_that_fails_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, stage: str
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("graph", "fails in this test")

    before = left_over()
    monkeypatch.setattr(owner, stage, fails)
    with pytest.raises(StoreUnavailable, match="fails in this test"):
        await bootstrap.run(config(tmp_path))
    assert left_over() == before
    assert {t.get_name() for t in asyncio.all_tasks()} & {"graph-projector", "embedding-backlog", "purging"} == set()
    DataDirectory.open(tmp_path / "data").__exit__(None, None, None)


async def test_another_size_than_the_local_models_is_refused(tmp_path: Path) -> None:
    before = left_over()
    wanted = Config(data_dir=tmp_path / "data", embedding=Embedding(provider="use", dimensions=3))
    with pytest.raises(InvalidField, match=r"embedding\.dimensions: is 3, but use makes vectors of"):
        await bootstrap.run(wanted)
    assert left_over() == before


async def test_each_part_outlives_what_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    for owner in (EmbeddingBacklog, Residency, GraphProjector, KuzuGraph, SqliteLedger):
        monkeypatch.setattr(owner, "close", _recording(closed, owner.__name__, owner.close))

    async def started(_: Server) -> None:
        raise StoreUnavailable("graph", "enough")

    monkeypatch.setattr(Server, "start", started)
    with pytest.raises(StoreUnavailable, match="enough"):
        await bootstrap.run(config(tmp_path))
    assert closed == ["EmbeddingBacklog", "Residency", "GraphProjector", "KuzuGraph", "SqliteLedger"]


def _recording(closed: list[str], name: str, real: Any) -> Any:
    async def close(self: Any) -> None:
        await real(self)
        closed.append(name)

    return close
