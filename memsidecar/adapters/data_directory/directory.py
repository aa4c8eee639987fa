"""The data directory: its lock and the version of what is in it.

Taken before anything else is opened. Two sidecars on one directory would each take the other's socket and graph.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from memsidecar.adapters.data_directory.restoring import FORMAT_FILE, LOCK_FILE, finish
from memsidecar.domain.errors import DataDirectoryBusy, DataDirectoryUnusable

FORMAT: Final = 1
"""Version of the directory's layout. A release reads every version up to its own."""

# `doctor` and `verify` take the lock for a moment to see whether it is free; a start must not fail over that.
_ATTEMPTS: Final = 6
_PAUSE_S: Final = 0.05


class DataDirectory:
    """An opened data directory. The kernel frees it when this process dies, however it dies."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock: int | None = lock

    @classmethod
    def open(cls, path: Path, replace: bool = False) -> DataDirectory:
        """Creates the directory (0700) when it is missing and takes its lock. Finishes a restore that was interrupted.

        With `replace` it is only to be filled anew: what is in it may be of any format. Raises DataDirectoryBusy,
        naming the owner, and DataDirectoryUnusable when it cannot be created or locked, or when a newer release has
        written it.
        """
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise _unusable(path, error) from error
        try:
            _take(path, lock)
            # Only for the message that another process shows, so a full disk must not keep this one from starting.
            with suppress(OSError):
                os.ftruncate(lock, 0)
                os.pwrite(lock, _description().encode(), 0)
            finish(path)
            if not replace:
                _check_format(path)
        except OSError as error:
            os.close(lock)
            raise _unusable(path, error) from error
        except (DataDirectoryBusy, DataDirectoryUnusable):
            os.close(lock)
            raise
        return cls(path, lock)

    def close(self) -> None:
        """Frees the directory. May be called more than once. The lock file stays: removing it would race."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> DataDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def owner_of(path: Path) -> str | None:
    """Who holds the directory, for people; None when nobody does or there is none."""
    try:
        lock = os.open(path / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _owner(lock)
    finally:
        os.close(lock)
    return None


def _take(path: Path, lock: int) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if attempt == _ATTEMPTS:
                raise DataDirectoryBusy(str(path), _owner(lock)) from error
            time.sleep(_PAUSE_S)
        else:
            return


def _description() -> str:
    since = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"process {os.getpid()} on {socket.gethostname()}, running since {since}\n"


def _owner(lock: int) -> str:
    # The owner takes the lock a moment before it writes who it is.
    return os.pread(lock, 256, 0).decode("utf-8", "replace").strip() or "another process"


def format_of(path: Path) -> int | None:
    """The format of a directory, which may be in use; None when it has none yet.

    Raises DataDirectoryUnusable when it is not to be read, or of a newer release.
    """
    try:
        text = (path / FORMAT_FILE).read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error) from error
    if not (text.isascii() and text.isdigit()):
        raise DataDirectoryUnusable(str(path), f"has a damaged {FORMAT_FILE} file; restore a backup with --set-aside")
    if int(text) > FORMAT:
        raise DataDirectoryUnusable(
            str(path),
            f"was written by a newer release (format {text}; this one reads up to {FORMAT}); upgrade memsidecar, or "
            "choose another data directory",
        )
    return int(text)


def _check_format(path: Path) -> None:
    if format_of(path) is None:
        _write_format(path / FORMAT_FILE)


def _write_format(file: Path) -> None:
    """Whole or not at all: a crash in the middle must not leave a directory that is refused for ever."""
    fresh = file.with_name(f"{FORMAT_FILE}.new")
    with fresh.open("w", encoding="ascii") as out:
        out.write(f"{FORMAT}\n")
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)
    directory = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _unusable(path: Path, error: OSError) -> DataDirectoryUnusable:
    reason = (error.strerror or "unknown reason").lower()
    return DataDirectoryUnusable(
        str(path), f"cannot be used: {reason}; choose another with --data-dir, or run `memsidecar doctor`"
    )
