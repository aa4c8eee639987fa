"""Real Redis-protocol servers for tests, run apart from any event loop, and a wait for what has no event."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType

import redis

from memsidecar.adapters.valkey_server.binary import find_binary


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Returns when the condition holds; fails after 20 s."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if await condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to that")


class RunningServer:
    """A server on a Unix socket, or on a loopback port when one is given. Options are those of valkey-server."""

    def __init__(self, directory: Path, port: int = 0, **options: str) -> None:
        self.directory = directory
        self.port = port
        self._options = {
            "port": str(port),
            "bind": "127.0.0.1",
            "unixsocket": "s",
            "dir": str(directory),
            "save": "",
            **{name.replace("_", "-"): value for name, value in options.items()},
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> str:
        return str(self.directory / "s")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}" if self.port else f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        words = [word for name, value in self._options.items() for word in (f"--{name}", value)]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(find_binary()), *words], cwd=self.directory, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                with redis.Redis(unix_socket_path=self.socket) as client:
                    client.ping()
                return
            except redis.AuthenticationError:
                return
            except redis.ConnectionError:
                assert self._process.poll() is None, (self.directory / "log").read_text()
                time.sleep(0.01)
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> RunningServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
