"""Keeps a private server running for as long as this process lives, and its data across restarts."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memsidecar.adapters.valkey_server.binary import command_line, find_binary
from memsidecar.adapters.valkey_server.directory import ServerDirectory
from memsidecar.domain.errors import StoreUnavailable

_log = logging.getLogger(__name__)

_READY_TIMEOUT_S = 120.0  # it answers only when it has read its data back, some 100 MB a second
# What the start of everything else waits for: a gigabyte of sessions may come later than long-term memory.
_START_S = 15.0
_STOP_TIMEOUT_S = 10.0
_POLL_S = 0.01
_LOG_CHECK_S = 30.0
_BACKOFF_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
# A server that ran this long was well; its next death starts the backoff again.
_WELL_AFTER_S = 60.0


class ValkeyServer:
    """A server on a Unix socket in a directory of its own. `set_aside`: which data could not be read and why, or empty;
    `problem`: why there is no server at the moment, or empty.

    Start it from the thread that lives as long as the process: the kernel ends the server when that thread ends.
    """

    def __init__(self, directory: ServerDirectory, maxmemory_bytes: int) -> None:
        self._directory = directory
        self._binary: Path | None = None
        self._maxmemory_bytes = maxmemory_bytes
        self._process: Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        self.set_aside = self.problem = ""
        self.restarts = 0

    @classmethod
    async def start(cls, directory: Path, maxmemory_bytes: int) -> ValkeyServer:
        """A server that answers; or, when it does not come up, one that is tried in the background, with `problem` set.

        A server that a crashed predecessor left behind is stopped first. Data that the server refuses to read is
        renamed, and the store starts empty. Raises DataDirectoryBusy when a living process uses the directory.
        """
        server = cls(ServerDirectory(directory), maxmemory_bytes)
        server._watch = asyncio.create_task(server._keep_running(), name="session-server-watch")
        tried = asyncio.create_task(server._tried.wait())
        try:
            await asyncio.wait((server._watch, tried), timeout=_START_S, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            await server.stop()
            raise
        finally:
            tried.cancel()
        if server._watch.done():  # a defect: nobody would look after the server
            failed = server._watch.exception()
            await server.stop()
            raise RuntimeError("the session server's watch has ended") from failed
        if not server._tried.is_set():
            server.problem = "is still starting"
            _log.warning("the session server is still starting; the rest does not wait for it")
        return server

    @property
    def url(self) -> str:
        """For RedisSettings. Stays the same when the server is restarted."""
        return f"unix://{self._directory.socket}"

    @property
    def pid(self) -> int:
        """The server's process; 0 while there is none."""
        return self._process.pid if self._process is not None and self._process.returncode is None else 0

    async def stop(self) -> None:
        """Ends the server in order, so that everything is on disk. Harmless to repeat."""
        watch, self._watch = self._watch, None
        if watch is None:
            return
        watch.cancel()
        await asyncio.wait([watch])
        await self._end_process()
        with suppress(OSError):
            self._directory.clear_socket()
        self._directory.close()

    async def _launch(self) -> None:
        """Starts the server; when it gives up on its data, without that.

        Whether the data is to blame is tried rather than read from the server's messages, which no two versions share.
        """
        if self._binary is None:
            binary = find_binary()
            left_over = await asyncio.to_thread(self._directory.stop_left_over, binary)
            if left_over is not None:
                _log.warning("stopped session server %d, left over from a process that crashed", left_over)
            self._binary = binary
        seen = self._directory.log_size()
        try:
            await self._spawn()
        except StoreUnavailable as refusal:
            gave_up = self._status() not in (None, -signal.SIGKILL, -signal.SIGTERM)
            await self._end_process()
            moved = self._directory.set_aside() if gave_up and not self._directory.machine_failed(seen) else {}
            if not moved:
                raise
            try:
                await self._spawn()
            except BaseException as error:
                await self._end_process()
                self._directory.put_back(moved)
                if isinstance(error, StoreUnavailable):
                    raise refusal from None
                raise
            kept = ", ".join(target.name for target in moved.values())
            self.set_aside = f"session data could not be read and is kept as {kept}; server.log has the reason"
            _log.error("%s (in %s)", self.set_aside, self._directory.path)

    async def _spawn(self) -> None:
        if self._binary is None:
            raise RuntimeError("no program to run")
        self._directory.clear_socket()
        log = self._directory.open_log()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command_line(self._binary, self._maxmemory_bytes),
                cwd=self._directory.path,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.defpath, "LC_ALL": "C"},
                # A terminal's Ctrl-C must not take the server away before the last requests are answered.
                start_new_session=True,
            )
        finally:
            os.close(log)
        self._directory.remember(self._process.pid)
        await self._ready(self._process)

    async def _ready(self, process: Process) -> None:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while time.monotonic() < deadline:
            if process.returncode is not None:
                raise StoreUnavailable("sessions", "stopped while it started; see server.log in its directory")
            if await self._answers():
                return
            await asyncio.sleep(_POLL_S)
        raise StoreUnavailable("sessions", f"did not get ready within {_READY_TIMEOUT_S:.0f} s")

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(1.0):
                reader, writer = await asyncio.open_unix_connection(self._directory.socket)
                try:
                    writer.write(b"PING\r\n")
                    return await reader.readline() == b"+PONG\r\n"  # while it reads its data back: -LOADING
                finally:
                    writer.close()
        except OSError:
            return False

    async def _keep_running(self) -> None:
        failures = 0
        while True:
            try:
                await self._launch()
            except (StoreUnavailable, OSError) as error:
                await self._end_process()
                # Of an OSError only what it is: its text names files.
                said = str(error).removeprefix("the sessions store ")
                self.problem = said if isinstance(error, StoreUnavailable) else f"does not start: {error.strerror}"
                _log.error("the session server does not start and is tried again: %s", error)
                self._tried.set()
            else:
                self.problem = ""
                self._tried.set()
                began = time.monotonic()
                await self._until_exit()
                _log.error("the session server ended with status %s; starting it again", self._status())
                self.restarts += 1
                self.problem = "has ended and is started again"
                failures = 0 if time.monotonic() - began > _WELL_AFTER_S else failures
            await asyncio.sleep(_BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)])
            failures += 1

    async def _until_exit(self) -> None:
        process = self._process
        while process is not None and process.returncode is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOG_CHECK_S):
                    await process.wait()
            self._directory.bound_log()

    def _status(self) -> int | None:
        return None if self._process is None else self._process.returncode

    async def _end_process(self) -> None:
        process = self._process
        if process is None:
            return
        signals: tuple[Callable[[], None], ...] = (lambda: process.send_signal(signal.SIGTERM), process.kill)
        for send in signals:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    send()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_STOP_TIMEOUT_S):
                        await process.wait()
        self._directory.forget()
