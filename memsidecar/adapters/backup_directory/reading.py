"""Taking the files of a backup out of it, each checked on the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from memsidecar.adapters.backup_directory.manifest import StoredFile
from memsidecar.domain.errors import BackupUnusable

_BLOCK = 4 << 20

Progress = Callable[[int, int], None]
"""Called with the bytes that are done and the bytes in all."""


def copy_out(source: Path, files: Iterable[StoredFile], target: Path, progress: Progress) -> None:
    """Copies files of a backup into a folder, under the same paths, and on the disk when it returns.

    Raises BackupUnusable, naming it, for a file that is missing or not what was written; OSError when the target cannot
    be written.
    """
    files = tuple(files)
    done, total = 0, sum(file.size for file in files)
    for file in files:
        digest, size = sha256(), 0
        (target / file.path).parent.mkdir(parents=True, exist_ok=True)
        with (target / file.path).open("wb") as out:
            for block in _blocks(source / file.path):
                digest.update(block)
                size += len(block)
                if size > file.size:
                    break
                out.write(block)
                progress(done + size, total)
            out.flush()
            os.fsync(out.fileno())
        if size != file.size:
            raise BackupUnusable(str(source / file.path), f"is not what was written: it has not {file.size} bytes")
        if digest.hexdigest() != file.sha256:
            raise BackupUnusable(str(source / file.path), "is not what was written: its checksum does not fit")
        done += size


def _blocks(path: Path) -> Iterable[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
    except FileNotFoundError as error:
        raise BackupUnusable(str(path), "is missing") from error
    except OSError as error:
        raise BackupUnusable(str(path), f"cannot be read: {(error.strerror or 'unknown reason').lower()}") from error
