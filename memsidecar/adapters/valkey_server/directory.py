"""The server's directory: who owns it, what a predecessor left there, its log, and data that cannot be read."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from memsidecar.adapters.valkey_server.binary import SOCKET_NAME
from memsidecar.domain.errors import DataDirectoryBusy

# Since version 7 a directory; before it, one file.
_DATA = ("appendonlydir", "appendonly.aof")
_LOG_LIMIT = 1024 * 1024
_STOP_TIMEOUT_S = 10.0
_POLL_S = 0.02
# With one of these the data may be whole: the machine is in the way.
_MACHINE_ERRORS = tuple(
    os.strerror(number).encode() for number in (errno.EACCES, errno.EIO, errno.ENOMEM, errno.ENOSPC, errno.EMFILE)
)


class ServerDirectory:
    """A directory (mode 0700) held by a lock for as long as this object is open, and by nobody else."""

    def __init__(self, path: Path) -> None:
        """Raises DataDirectoryBusy when a living process holds it."""
        self.path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise DataDirectoryBusy(str(path), "another session server's owner") from error
        self._handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    @property
    def socket(self) -> str:
        """A path to connect to; valid in this process only when the real one is too long for a socket address."""
        direct = str((self.path / SOCKET_NAME).absolute())
        return direct if len(os.fsencode(direct)) < 100 else f"/proc/self/fd/{self._handle}/{SOCKET_NAME}"

    def close(self) -> None:
        os.close(self._handle)
        os.close(self._lock)

    def remember(self, pid: int) -> None:
        """Notes the server's process, for a successor that finds it still running."""
        (self.path / "pid").write_text(f"{pid}\n", encoding="ascii")

    def forget(self) -> None:
        (self.path / "pid").unlink(missing_ok=True)

    def stop_left_over(self, binary: Path) -> int | None:
        """Ends the server of a predecessor that crashed; the pid, or None when there is none. Blocks up to 20 s.

        Only a process that runs this program (or a replaced file of its name) in this very directory is touched: the
        number may belong to anything by now.
        """
        try:
            pid = int((self.path / "pid").read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return None
        stopped = None
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if not self._is_ours(pid, binary):
                break
            stopped = pid
            with suppress(ProcessLookupError):
                os.kill(pid, sign)
            deadline = time.monotonic() + _STOP_TIMEOUT_S
            while self._is_ours(pid, binary) and time.monotonic() < deadline:
                time.sleep(_POLL_S)
        self.forget()
        return stopped

    def clear_socket(self) -> None:
        """Removes a socket that nobody serves any more: a server does not bind over one."""
        (self.path / SOCKET_NAME).unlink(missing_ok=True)

    def open_log(self) -> int:
        """A descriptor that appends to the server's log. The caller closes it."""
        self.bound_log()
        return os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def bound_log(self) -> None:
        """Moves the content of a log over 1 MiB to `server.log.1`; the server goes on writing at the start."""
        with suppress(FileNotFoundError):
            if self._log.stat().st_size > _LOG_LIMIT:
                self._log.with_suffix(".log.1").write_bytes(self._log.read_bytes()[-_LOG_LIMIT:])
                os.truncate(self._log, 0)

    def log_size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    def machine_failed(self, since: int) -> bool:
        """Whether the server named an error of the operating system, from that offset of its log on."""
        with self._log.open("rb") as log:
            log.seek(since)
            text = log.read(_LOG_LIMIT)
        return any(problem in text for problem in _MACHINE_ERRORS)

    def set_aside(self) -> dict[Path, Path]:
        """Renames the server's data; where each part was and is now. Empty when there is none. Nothing is deleted."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        places = {self.path / name: self.path / f"{name}.damaged-{stamp}" for name in _DATA}
        moved = {place: target for place, target in places.items() if place.exists()}
        for place, target in moved.items():
            place.rename(target)
        return moved

    def put_back(self, moved: dict[Path, Path]) -> None:
        """Undoes set_aside(); what a server made in the meantime, which never got ready, is removed."""
        for place, target in moved.items():
            if place.is_dir():
                shutil.rmtree(place)
            place.unlink(missing_ok=True)
            target.rename(place)

    @property
    def _log(self) -> Path:
        return self.path / "server.log"

    def _is_ours(self, pid: int, binary: Path) -> bool:
        process = Path("/proc") / str(pid)
        try:
            program = (process / "exe").readlink()
            place = (process / "cwd").readlink()
        except OSError:
            return False  # gone, a zombie, or of another user
        names = {str(binary), f"{binary} (deleted)"}
        return str(program) in names and place == self.path.resolve()
