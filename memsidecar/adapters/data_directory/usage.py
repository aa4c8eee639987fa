"""How full the data directory is."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path

# Seconds for which a look at all files stands: a directory may hold a snapshot for each of ten thousand users.
LOOK_EVERY = 60.0
OTHER = "other"


class DiskUsage:
    """Bytes on disk, and of the volume. May be asked in any thread, which then waits for the disk; what cannot be read
    counts nothing."""

    def __init__(self, directory: Path, parts: Mapping[str, str]) -> None:
        """`parts` has for the beginning of a name in the directory (`ledger.db`, `graph`) what it is part of."""
        self._directory, self._parts = directory, parts
        self._lock = threading.Lock()
        self._looked = -LOOK_EVERY
        self._bytes: dict[str, int] = {}

    def parts(self) -> Mapping[str, int]:
        """Bytes of each part, and of what is in none ("other"); at most LOOK_EVERY seconds old."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked >= LOOK_EVERY:
                self._bytes, self._looked = self._look(), now
            return self._bytes

    def free(self) -> int:
        """Bytes that the process may still write to the volume."""
        try:
            volume = os.statvfs(self._directory)
        except OSError:
            return 0
        return volume.f_bavail * volume.f_frsize

    def size(self) -> int:
        try:
            volume = os.statvfs(self._directory)
        except OSError:
            return 0
        return volume.f_blocks * volume.f_frsize

    def _look(self) -> dict[str, int]:
        found = dict.fromkeys([*self._parts.values(), OTHER], 0)
        for path in _entries(self._directory):
            part = next((part for start, part in self._parts.items() if path.name.startswith(start)), OTHER)
            found[part] += _size(path)
        return found


def _size(path: os.DirEntry[str]) -> int:
    try:
        if path.is_dir(follow_symlinks=False):
            return sum(map(_size, _entries(path.path)))
        return path.stat(follow_symlinks=False).st_size
    except OSError:
        # Gone meanwhile.
        return 0


def _entries(directory: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except OSError:
        return []
