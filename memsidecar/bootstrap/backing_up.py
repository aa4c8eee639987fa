"""A backup, from the files of a data directory that may be in use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memsidecar import __version__
from memsidecar.adapters.backup_directory import BackupWriter, Manifest
from memsidecar.adapters.backup_directory.manifest import StoredPartition, StoredVectors
from memsidecar.adapters.data_directory import FORMAT as DATA_FORMAT
from memsidecar.adapters.data_directory import format_of, is_unfinished
from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_accesses import FILE_NAME as ACCESSES
from memsidecar.adapters.sqlite_accesses import check_accesses, copy_accesses
from memsidecar.adapters.sqlite_ledger import FILE_NAME as LEDGER
from memsidecar.adapters.sqlite_ledger import check_copy, contents, copy_ledger
from memsidecar.adapters.valkey_server import copy_sessions
from memsidecar.config import Config
from memsidecar.domain.errors import BackupUnusable, DataDirectoryUnusable, StoreUnavailable, StoreUnusable

SESSIONS = "sessions"

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much it is in all."""


def back_up(config: Config, target: Path, progress: Progress) -> Manifest:
    """Writes a backup of the data directory to a directory that does not exist yet, whether a sidecar runs or not.

    Sessions come before the ledger: what a session has led to is then never missing beside it. Nothing is left at the
    target when it fails. Raises BackupUnusable, DataDirectoryUnusable, StoreUnavailable, StoreUnusable (a damaged
    ledger).
    """
    began = time.monotonic()
    if real_path(target).is_relative_to(real_path(config.data_dir)):
        raise BackupUnusable(str(target), "is in the data directory, which a backup must outlive; choose another place")
    data_format = format_of(config.data_dir) or DATA_FORMAT
    if is_unfinished(config.data_dir):
        problem = "holds a restore that was interrupted; start the sidecar or run `memsidecar verify`, to finish it"
        raise DataDirectoryUnusable(str(config.data_dir), problem)
    with BackupWriter.begin(target) as backup:
        sessions = _copy_sessions(config, backup.folder)
        _copy_accesses(config, backup.folder)
        created = time.time_ns() // 1000
        ledger = backup.folder / LEDGER
        copy_ledger(config.data_dir, ledger, lambda done, total: progress("copying the ledger", done, total))
        check_ledger(ledger, "the ledger", progress)
        found = contents(ledger)
        manifest = Manifest(
            memsidecar=__version__,
            created=_time(created),
            seconds=round(time.monotonic() - began, 3),
            data_directory_format=data_format,
            ledger_format=found.format,
            entries=found.entries,
            oldest=_time(found.oldest),
            newest=_time(found.newest),
            embedding=config.embedding.provider,
            graph_engine=config.graph.engine,
            sessions=sessions,
            vectors=tuple(StoredVectors(*each) for each in found.vectors),
            partitions=tuple(
                StoredPartition(owner.namespace, owner.user, head.revision, head.chain.hex())
                for owner, head in found.heads
            ),
            files=backup.stored(),
        )
        backup.finish(manifest)
    return manifest


def check_ledger(copy: Path, what: str, progress: Progress) -> None:
    """Raises StoreUnusable when a copy is not what was written, naming where."""
    damages = check_copy(copy, ProtobufEventCodec(), lambda done, total: progress(f"checking {what}", done, total))
    if damages:
        first = damages[0]
        raise StoreUnusable(
            "ledger",
            f"is damaged in {len(damages)} places, the first at revision {first.revision} of {first.partition.name} "
            f"({first.problem}); nothing was made of it; `memsidecar verify` lists them all",
        )


def real_path(path: Path) -> Path:
    """With links followed as far as that goes; a link to itself is left, for whoever opens it to complain about."""
    return Path(os.path.realpath(path))


def _copy_sessions(config: Config, folder: Path) -> str:
    if config.redis.url:
        return "external"
    return "included" if copy_sessions(config.data_dir / SESSIONS, folder / SESSIONS) else "none"


def _copy_accesses(config: Config, folder: Path) -> None:
    """Counts of recalls that cannot be read are no reason to be without a backup: a start begins them anew, too."""
    copy = folder / ACCESSES
    try:
        sound = copy_accesses(config.data_dir, copy) and check_accesses(copy)
    except StoreUnavailable:
        sound = False
    if not sound:
        copy.unlink(missing_ok=True)


def _time(microseconds: int | None) -> str:
    if microseconds is None:
        return ""
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:06}Z"
