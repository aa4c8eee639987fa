"""The port of the metrics over the life of a real process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from memsidecar_client import AsyncMemsidecar, Draining

from tests.e2e.process import Launch, flags, run
from tests.metrics.scrape import Values, free_port, shown_on


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    launched = Launch(tmp_path)
    yield launched
    launched.close()


def test_a_port_in_use_is_a_start_error_that_names_the_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ("--health.port=0", "--metrics.host=127.0.0.1", f"--metrics.port={port}")
        refused = run("serve", f"--data-dir={tmp_path / 'data'}", f"--listen.socket={tmp_path / 's'}", *words, *flags())
    assert refused.code == 1
    assert f"port {port} on 127.0.0.1 is in use by another process; stop it, or set metrics.port to" in refused.err
    assert "Traceback" not in refused.err
    assert not (tmp_path / "s").exists()


async def test_the_last_scrape_sees_the_drain_and_then_the_port_is_free(launch: Launch) -> None:
    port = free_port()
    sidecar = launch({**shown_on(port), "drain_grace": "20"}, start=False)
    await asyncio.to_thread(sidecar.start)
    async with AsyncMemsidecar(sidecar.target, user="ann") as client, client.generation("hello") as generation:
        values = await asyncio.to_thread(Values.of, port)
        assert values("memsidecar_calls_open", kind="generation") == 1
        assert (values("memsidecar_ready"), values("memsidecar_draining_seconds")) == (1, 0)
        sidecar.terminate()
        while not isinstance(await anext(generation), Draining):
            pass
        values = await asyncio.to_thread(Values.of, port)
        assert values("memsidecar_draining_seconds") > 0
        assert (values("memsidecar_ready"), values("memsidecar_calls_open", kind="generation")) == (0, 1)
    assert await asyncio.to_thread(sidecar.wait) == 0
    socket.create_server(("127.0.0.1", port)).close()
