"""What the commands need from the wiring, which loads every library and so is imported only when it is used."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from memsidecar.adapters.backup_directory import Manifest
from memsidecar.config import Config
from memsidecar.domain.finding import Finding
from memsidecar.domain.point_in_time import Cut, PointInTime

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much it is in all."""


class Bootstrap(Protocol):
    """The module memsidecar.bootstrap."""

    def run(self, config: Config) -> Coroutine[Any, Any, None]:
        """Serves until SIGTERM or SIGINT, then drains; returns when everything is closed.

        Raises DataDirectoryBusy, StoreUnavailable, StoreFull, ModelUnavailable when it cannot start.
        """
        ...

    def verify(self, config: Config, repair: bool) -> Coroutine[Any, Any, Sequence[Finding]]:
        """Compares ledger, graph, vectors and keywords; with `repair`, rebuilds what differs from the ledger.

        Raises DataDirectoryBusy while a sidecar runs on the same data directory.
        """
        ...

    def back_up(self, config: Config, target: Path, progress: Progress) -> Manifest:
        """Writes a backup of the data directory to a directory that does not exist yet, beside a sidecar or without.

        Raises BackupUnusable, StoreUnusable, StoreUnavailable; then nothing is there.
        """
        ...

    def restore(
        self, config: Config, source: Path, until: PointInTime | None, set_aside: bool, progress: Progress
    ) -> Restored:
        """Fills an empty data directory with a backup, as of a point in time if one is given.

        Raises BackupUnusable, DataDirectoryBusy, DataDirectoryUnusable, InvalidField; then nothing is there.
        """
        ...


class Restored(Protocol):
    """What has come of a backup: see memsidecar/bootstrap/restoring.py."""

    @property
    def manifest(self) -> Manifest: ...
    @property
    def entries(self) -> int: ...
    @property
    def partitions(self) -> int: ...
    @property
    def sessions(self) -> bool: ...
    @property
    def cuts(self) -> Sequence[Cut]: ...
    @property
    def aside(self) -> Path | None: ...


def bootstrap() -> Bootstrap:
    return cast(Bootstrap, import_module("memsidecar.bootstrap"))
