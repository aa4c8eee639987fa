"""A ledger in a fresh directory, and a way to tamper with its file."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger

Tamper: TypeAlias = Callable[..., None]


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    opened = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    yield opened
    await opened.close()


@pytest.fixture
def tamper(tmp_path: Path) -> Tamper:
    """Run SQL on the file, as somebody outside would."""

    def run(sql: str, *parameters: Any) -> None:
        connection = sqlite3.connect(tmp_path / "ledger.db")
        try:
            with connection:
                connection.execute(sql, parameters)
        finally:
            connection.close()

    return run
