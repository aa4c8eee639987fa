"""A data directory from a backup."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from memsidecar.adapters.backup_directory import Manifest, copy_out, read_manifest
from memsidecar.adapters.data_directory import FORMAT as DATA_FORMAT
from memsidecar.adapters.data_directory import DataDirectory, Restoring
from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.hnsw_vectors import HnswVectorIndexes
from memsidecar.adapters.partition_snapshots import SnapshotFiles
from memsidecar.adapters.sqlite_ledger import FILE_NAME as LEDGER
from memsidecar.adapters.sqlite_ledger import FORMAT as LEDGER_FORMAT
from memsidecar.adapters.sqlite_ledger import SqliteLedger, contents, cut_ledger, renew_history
from memsidecar.adapters.system_runtime import SystemClock, TimeOrderedIds
from memsidecar.bootstrap.backing_up import SESSIONS, Progress, check_ledger, real_path
from memsidecar.config import Config
from memsidecar.domain.errors import BackupUnusable, DataDirectoryUnusable, InvalidField, LedgerDamaged, StoreFull
from memsidecar.domain.point_in_time import AtRevision, Cut, PointInTime
from memsidecar.services.amending import Amending
from memsidecar.services.hydration import Hydration
from memsidecar.services.preparing import Space


@dataclass(frozen=True, slots=True)
class Restored:
    """What has come of a backup. `entries` and `partitions` are those that are there now; `aside` is where what was in
    the directory before is kept."""

    manifest: Manifest
    entries: int
    partitions: int
    sessions: bool
    cuts: Sequence[Cut]
    aside: Path | None


def restore(config: Config, source: Path, until: PointInTime | None, set_aside: bool, progress: Progress) -> Restored:
    """Fills an empty data directory with a backup, as of a point in time if one is given; then without sessions and
    counts of recalls, of which a backup has the newest state only.

    Nothing is there before everything is, checked and on the disk. With `set_aside` the directory need not be empty.
    Raises BackupUnusable, DataDirectoryBusy, DataDirectoryUnusable, InvalidField, StoreUnusable, StoreUnavailable.
    """
    manifest = _readable(source)
    if real_path(config.data_dir).is_relative_to(real_path(source)):
        raise DataDirectoryUnusable(str(config.data_dir), "is in the backup itself; choose another place")
    with DataDirectory.open(config.data_dir, replace=True):
        try:
            restoring = Restoring.begin(config.data_dir, set_aside)
            try:
                return _restore(source, manifest, until, restoring, progress)
            except BaseException:
                restoring.give_up()
                raise
        except (OSError, StoreFull) as error:
            reason = error.strerror if isinstance(error, OSError) else os.strerror(errno.ENOSPC)
            problem = f"cannot be filled: {(reason or 'unknown reason').lower()}"
            raise DataDirectoryUnusable(str(config.data_dir), problem) from error


def _readable(source: Path) -> Manifest:
    manifest = read_manifest(source)
    if manifest.data_directory_format > DATA_FORMAT or manifest.ledger_format > LEDGER_FORMAT:
        raise BackupUnusable(
            str(source), f"holds data of a later release ({manifest.memsidecar}); restore it with that release"
        )
    if LEDGER not in {file.path for file in manifest.files}:
        raise BackupUnusable(str(source), "has no ledger in its list of files")
    return manifest


def _restore(
    source: Path, manifest: Manifest, until: PointInTime | None, restoring: Restoring, progress: Progress
) -> Restored:
    folder = restoring.folder
    wanted = [file for file in manifest.files if until is None or file.path == LEDGER]
    copy_out(source, wanted, folder, lambda done, total: progress("copying", done, total))
    ledger = folder / LEDGER
    _compare(source, manifest, ledger)
    cuts: Sequence[Cut] = ()
    if isinstance(until, AtRevision) and until.history not in (None, contents(ledger).history):
        raise InvalidField("to-revision", "is of another history: of before a restore, or of another store")
    if until is not None:
        cuts = cut_ledger(ledger, ProtobufEventCodec(), until)
        asyncio.run(_amend(folder, cuts))
    # What was written after the backup is lost, and what comes now gets its revisions.
    renew_history(ledger)
    check_ledger(ledger, "the ledger", progress)
    (folder / "FORMAT").write_text(f"{manifest.data_directory_format}\n", encoding="ascii")
    found = contents(ledger)
    aside = restoring.commit()
    sessions = any(file.path.startswith(f"{SESSIONS}/") for file in wanted)
    return Restored(manifest, found.entries, len(found.heads), sessions, cuts, aside)


def _compare(source: Path, manifest: Manifest, ledger: Path) -> None:
    """Whether the manifest speaks of this ledger."""
    heads = {(p.namespace, p.user): (p.revision, p.head) for p in manifest.partitions}
    found = {(p.namespace, p.user): (head.revision, head.chain.hex()) for p, head in contents(ledger).heads}
    if heads != found:
        raise BackupUnusable(str(source), "has a manifest that is not of its ledger: the partitions' heads differ")


async def _amend(folder: Path, cuts: Sequence[Cut]) -> None:
    if not any(cut.purged or cut.without_vectors for cut in cuts):
        return
    codec, clock = ProtobufEventCodec(), SystemClock()
    async with AsyncExitStack() as stack:
        ledger = await SqliteLedger.open(folder, codec)
        stack.push_async_callback(ledger.close)
        indexes = HnswVectorIndexes()
        stack.push_async_callback(indexes.close)
        # No vectors are looked at, so that no model is needed.
        space = Space("", 1, None, 0.0)
        hydrate = Hydration(ledger, codec, indexes, SnapshotFiles(folder / "resident"), space)
        amend = Amending(ledger, hydrate, clock, TimeOrderedIds(clock))
        for cut in cuts:
            try:
                await amend(cut)
            except LedgerDamaged as error:
                raise BackupUnusable(str(folder), f"cannot be taken back: {error}") from error
