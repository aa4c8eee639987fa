"""One process a data directory; it goes away in order, and comes back after going in disorder."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from memsidecar_client import AsyncMemsidecar, Memsidecar, Unavailable

from tests import session_servers
from tests.e2e.process import Launch, flags, gone, run, session_server, until
from tests.e2e.story import answers, tell

NO_PORTS = ("--health.port=0", "--metrics.port=0")


def test_second_process_on_a_data_directory_is_refused_and_harms_nothing(launch: Launch) -> None:
    sidecar = launch()
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client)
        before = answers(client)
        # The same socket, too: it must not be taken over by the one that is refused.
        address = [f"--data-dir={sidecar.data_dir}", f"--listen.socket={sidecar.socket}", *NO_PORTS]
        for command in (["serve"], ["verify"], ["verify", "--repair"]):
            second = run(*command, *address, *flags())
            assert second.code == 75
            assert f"{sidecar.data_dir} is in use by process {sidecar.pid} " in second.err
            assert "Traceback" not in second.err
        assert answers(client) == before
    with Memsidecar(sidecar.target, user="ann") as fresh:
        assert answers(fresh) == before


async def test_sigterm_lets_running_calls_finish_and_leaves_nothing_behind(launch: Launch) -> None:
    sidecar = launch()
    server = session_server(sidecar)
    async with AsyncMemsidecar(sidecar.target, user="ann") as client:
        async with client.remember_stream() as stream:
            await stream.send(["said before the signal"])

            async def is_stored() -> bool:
                return bool([m async for m in client.list_memories()])

            await session_servers.until(is_stored)
            sidecar.terminate()
            await _refused(sidecar.target)
            await stream.send(["said after the signal"])
            summary = await stream.finish()
        assert summary.received == 2
    assert await asyncio.to_thread(sidecar.wait) == 0
    assert not sidecar.socket.exists()
    assert gone(server)
    assert "Traceback" not in sidecar.log()

    await asyncio.to_thread(sidecar.start)
    async with AsyncMemsidecar(sidecar.target, user="ann") as client:
        texts = [m.text async for m in client.list_memories()]
    assert texts == ["said before the signal", "said after the signal"]


async def _refused(target: str) -> None:
    """Returns when a draining sidecar takes no new call."""
    async with AsyncMemsidecar(target, user="ann", wait_for_ready=False) as other:

        async def is_refused() -> bool:
            try:
                await other.server_info(timeout=5)
            except Unavailable:
                return True
            return False

        await session_servers.until(is_refused)


def test_sigkill_leaves_a_socket_and_the_next_start_takes_it(launch: Launch) -> None:
    sidecar = launch()
    server = session_server(sidecar)
    with Memsidecar(sidecar.target, user="ann") as client:
        told = client.remember("Ben lives in Lisbon.").memories
        client.session("s").create()
        sidecar.kill()
        assert sidecar.socket.is_socket()
        until(lambda: gone(server), "the session server ends with its parent")
        sidecar.start()
        assert list(client.list_memories()) == [m for m in told if m.text.startswith("Ben lives")]
        assert client.session("s").get().message_count == 0


@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_anything_but_a_socket_at_its_path_is_a_clear_error(launch: Launch, tmp_path: Path, what: str) -> None:
    path = tmp_path / "s"
    if what == "file":
        path.write_text("precious")
    elif what == "folder":
        path.mkdir()
    else:
        (tmp_path / "precious").write_text("precious")
        path.symlink_to(tmp_path / "precious")
    refused = run("serve", f"--data-dir={tmp_path / 'data'}", f"--listen.socket={path}", *NO_PORTS, *flags())
    assert refused.code == 2
    assert f"listen.socket: {path} exists and is not a socket" in refused.err
    assert not (tmp_path / "data").exists()
    assert "Traceback" not in refused.err
    if what != "folder":
        assert path.read_text() == "precious"


def test_a_socket_without_a_listener_is_replaced(launch: Launch) -> None:
    sidecar = launch(start=False)
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(sidecar.socket))
    sidecar.start()
    with Memsidecar(sidecar.target) as client:
        assert client.server_info().version
