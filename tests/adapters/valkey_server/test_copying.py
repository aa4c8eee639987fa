"""A copy of a server's files, made while it writes and rewrites them, is a state that the server was in."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import redis

from memsidecar.adapters.valkey_server import copy_sessions
from memsidecar.adapters.valkey_server.binary import SOCKET_NAME
from tests.session_servers import RunningServer


def _server(folder: Path, rewritten_after: str = "64mb") -> RunningServer:
    growth = {"auto_aof_rewrite_min_size": rewritten_after, "auto_aof_rewrite_percentage": "1"}
    return RunningServer(folder, 0, appendonly="yes", appendfsync="everysec", **growth)


def _count_in(folder: Path) -> int:
    """What a server makes of a copy: the newest number, all before it being there, too."""
    with _server(folder), redis.Redis(unix_socket_path=str(folder / "s")) as client:
        found = sorted(int(value) for value in client.lrange("numbers", 0, -1))
        assert found == list(range(len(found)))
        return len(found)


def _rewrites(client: redis.Redis) -> int:
    return int(client.info("persistence")["aof_rewrites"])


def test_every_acknowledged_write_is_in_a_copy_made_during_rewrites(tmp_path: Path) -> None:
    live = tmp_path / "live"
    live.mkdir()
    # Rewritten all the time.
    with _server(live, rewritten_after="1kb"):
        (live / SOCKET_NAME).symlink_to("s")
        acknowledged, stop = [0], threading.Event()

        def write() -> None:
            with redis.Redis(unix_socket_path=str(live / "s")) as client:
                while not stop.is_set():
                    client.rpush("numbers", acknowledged[0])
                    acknowledged[0] += 1

        writer = threading.Thread(target=write)
        writer.start()
        copies = []
        watching = redis.Redis(unix_socket_path=str(live / "s"))
        try:
            for number in range(6):
                # However slow the machine is: each copy is of other files.
                while acknowledged[0] < 300 * (number + 1) or _rewrites(watching) < number:
                    assert writer.is_alive()
                    time.sleep(0.001)
                before, copy = acknowledged[0], tmp_path / f"copy{number}"
                assert copy_sessions(live, copy)
                copies.append((copy, before, acknowledged[0]))
        finally:
            stop.set()
            writer.join()
            watching.close()
    for copy, before, after in copies[::2]:
        assert before <= _count_in(copy) <= after + 1


def test_files_of_a_server_that_has_ended_are_copied_and_no_files_are_no_copy(tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"
    assert copy_sessions(stopped, tmp_path / "none") == []
    stopped.mkdir()
    assert copy_sessions(stopped, tmp_path / "none") == []
    with _server(stopped), redis.Redis(unix_socket_path=str(stopped / "s")) as client:
        client.rpush("numbers", 0, 1, 2)
    copied = copy_sessions(stopped, tmp_path / "copy")
    assert {path.name for path in copied} >= {"appendonly.aof.manifest"}
    assert _count_in(tmp_path / "copy") == 3
