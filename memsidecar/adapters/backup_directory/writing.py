"""A backup on its way: under another name until it is whole, checked and on the disk."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import file_digest
from pathlib import Path

from memsidecar.adapters.backup_directory.manifest import Manifest, StoredFile, write_manifest
from memsidecar.domain.errors import BackupUnusable

_UNFINISHED = ".incomplete"
_LOCK_FILE = "LOCK"


class BackupWriter:
    """The files go into `folder`; `finish` gives the backup its name."""

    def __init__(self, target: Path, folder: Path) -> None:
        self._target = target
        self.folder = folder

    @classmethod
    @contextmanager
    def begin(cls, target: Path) -> Iterator[BackupWriter]:
        """For the block; what it leaves unfinished, for whatever reason, is removed.

        After a kill `<target>.incomplete` stays behind; it is no backup, and the next one of that name removes it.
        Raises BackupUnusable when the target exists, another process writes it, or it cannot be written, a full disk
        among the reasons.
        """
        with _writing(target):
            if target.exists() or target.is_symlink():
                raise BackupUnusable(str(target), "exists; name a directory that does not")
            folder = target.with_name(target.name + _UNFINISHED)
            folder.mkdir(mode=0o700, exist_ok=True)
            # Not the folder itself: NFS locks only what is open for writing.
            held = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _take(held, folder, target)
            with _writing(target):
                for left_over in folder.iterdir():
                    if left_over.is_dir() and not left_over.is_symlink():
                        shutil.rmtree(left_over)
                    elif left_over.name != _LOCK_FILE:
                        left_over.unlink()
                yield cls(target, folder)
        except BaseException as error:
            if not isinstance(error, _Taken):
                shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            os.close(held)

    def stored(self) -> tuple[StoredFile, ...]:
        """Every file of it, as it is now. Raises OSError."""
        return tuple(
            StoredFile(path.relative_to(self.folder).as_posix(), path.stat().st_size, _sha256(path))
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path != self.folder / _LOCK_FILE
        )

    def finish(self, manifest: Manifest) -> None:
        """Makes it a backup: everything on the disk first, then its name. Raises OSError, BackupUnusable."""
        write_manifest(self.folder, manifest)
        for path in self.folder.rglob("*"):
            _sync(path)
        _sync(self.folder)
        if self._target.exists():
            raise BackupUnusable(str(self._target), "has been made meanwhile; nothing was written")
        self.folder.rename(self._target)
        _sync(self._target.parent)
        # While it has it, no other backup takes the folder for a left-over; a kill in between leaves an empty file.
        (self._target / _LOCK_FILE).unlink()


class _Taken(BackupUnusable):
    pass


def _take(held: int, folder: Path, target: Path) -> None:
    taken = "is being written by another backup"
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _Taken(str(target), taken) from error
    except OSError:
        return  # A file system without locks is no reason to be without a backup.
    # The other one may have come to its end between opening and locking, and have taken the file along.
    with suppress(OSError):
        if os.path.samestat(os.fstat(held), (folder / _LOCK_FILE).stat()):
            return
    raise _Taken(str(target), taken)


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    """What goes wrong with the disk, said of the target."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOENT and not target.parent.is_dir():
            raise BackupUnusable(str(target), f"cannot be written: {target.parent} does not exist") from error
        reason = (error.strerror or "unknown reason").lower()
        elsewhere = error.filename and not Path(error.filename).is_relative_to(target.parent)
        what = f"cannot be made: {error.filename}: {reason}" if elsewhere else f"cannot be written: {reason}"
        raise BackupUnusable(str(target), f"{what}; nothing was left there") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
