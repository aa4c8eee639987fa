"""Filling a data directory with restored data: all of it, or nothing, whenever the process is killed.

The data comes into a folder in the directory, so that it is on the same volume, which may be mounted there. Renaming
that folder is what decides: before it nothing has happened, after it whoever opens the directory next finishes what is
left to do. So nobody ever opens half of it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from memsidecar.domain.errors import DataDirectoryUnusable

LOCK_FILE: Final = "LOCK"
FORMAT_FILE: Final = "FORMAT"
ASIDE: Final = "before-restore-"
"""Where what was there before a restore is kept: a folder of this name and the time, in the directory."""

_STAGED: Final = "restore-"
# The three states of the folder: being filled; whole, and what was there before is to be set aside; to be put in place.
_FILLING, _WHOLE, _PLACING = ".incomplete", ".whole", ".placing"
_MADE_BY_A_DISK: Final = "lost+found"


class Restoring:
    """For whoever holds the directory's lock. Files go into `folder`; FORMAT is among them."""

    def __init__(self, directory: Path, folder: Path) -> None:
        self._directory = directory
        self.folder = folder

    @classmethod
    def begin(cls, directory: Path, set_aside: bool) -> Restoring:
        """Raises DataDirectoryUnusable when something is there that is not to be set aside; OSError."""
        there = sorted(path.name for path in _contents(directory))
        if there and not set_aside:
            few = ", ".join(there[:3]) + (" and more" if len(there) > 3 else "")
            raise DataDirectoryUnusable(
                str(directory),
                f"is not empty (it holds {few}); restore into another one, or add --set-aside, which keeps what is "
                f"there in a folder {ASIDE}<time> in it",
            )
        for left_over in directory.glob(f"{_STAGED}*{_FILLING}"):
            shutil.rmtree(left_over)
        folder = directory / f"{_STAGED}{datetime.now(UTC).strftime('%Y%m%dT%H%M%S-%f')}{_FILLING}"
        folder.mkdir(mode=0o700)
        return cls(directory, folder)

    def commit(self) -> Path | None:
        """Makes it the directory's content. The folder that what was there before is in now, if any. Raises OSError."""
        for path in self.folder.rglob("*"):
            _sync(path)
        _sync(self.folder)
        _renamed(self.folder, _WHOLE)
        return finish(self._directory)

    def give_up(self) -> None:
        """Removes what has come so far. Nothing once it is decided, because then the folder has another name: whoever
        opens the directory next goes on."""
        shutil.rmtree(self.folder, ignore_errors=True)


def finish(directory: Path) -> Path | None:
    """Goes on with a restore that was decided, if there is one. The folder that what was there before was moved to now.

    May be killed and repeated at any point. Raises OSError.
    """
    aside = None
    for staged in sorted(directory.glob(f"{_STAGED}*{_WHOLE}")):
        if before := list(_contents(directory)):
            aside = directory / staged.name.replace(_STAGED, ASIDE).removesuffix(_WHOLE)
            aside.mkdir(mode=0o700, exist_ok=True)
            # It says which release may read the rest, so it goes along; first, because alone it is no content.
            for path in (*directory.glob(FORMAT_FILE), *before):
                path.rename(aside / path.name)
            _sync(aside)
            _sync(directory)
        _renamed(staged, _PLACING)
    for staged in sorted(directory.glob(f"{_STAGED}*{_PLACING}")):
        for path in staged.iterdir():
            path.rename(directory / path.name)
        _sync(directory)
        staged.rmdir()
        _sync(directory)
    return aside


def is_unfinished(directory: Path) -> bool:
    """Whether a restore was decided and has not come to its end, so that not all is in its place. Raises OSError."""
    return any(any(directory.glob(f"{_STAGED}*{state}")) for state in (_WHOLE, _PLACING))


def _contents(directory: Path) -> Iterator[Path]:
    """What makes a directory one that is in use."""
    for path in directory.iterdir():
        ours = path.name.startswith((_STAGED, ASIDE)) and path.is_dir()
        if not ours and path.name not in (LOCK_FILE, FORMAT_FILE, f"{FORMAT_FILE}.new", _MADE_BY_A_DISK):
            yield path


def _renamed(folder: Path, state: str) -> None:
    folder.rename(folder.with_suffix(state))
    _sync(folder.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
