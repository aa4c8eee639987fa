"""A small filesystem that can be filled."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallVolume:
    """A tmpfs of a size in MiB at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self, leave: int = 0) -> None:
        """Take all the space but `leave` bytes."""
        with self._filler.open("ab", buffering=0) as file:
            for block in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(b"\0" * block)
                except OSError:
                    continue
        if leave:
            with self._filler.open("r+b") as file:
                file.truncate(max(0, self._filler.stat().st_size - leave))

    def free(self) -> None:
        self._filler.unlink()


@contextmanager
def small_volume(path: Path, mebibytes: int) -> Iterator[SmallVolume]:
    """Mounted for the block. Skips the test where mounting is not permitted: it takes root, as CI has it."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small filesystem takes root")
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "memsidecar-test", str(path)], check=True)
    try:
        yield SmallVolume(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
