"""The data directory: filesystem, space, commits, who owns it, what was set aside."""

from __future__ import annotations

import os
import shutil
import sqlite3
import statistics
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from memsidecar.adapters.data_directory import owner_of
from memsidecar.command.checks.outcome import Outcome, fail, ok, warn
from memsidecar.config import Config

MIN_FREE_BYTES = 256 << 20
LOW_FREE_BYTES = 1 << 30
COMMITS = 8
SLOW_COMMIT_S = 0.05

# SQLite's log needs memory shared between processes, which no network filesystem gives reliably.
NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs", "afs"}
VOLATILE = {"tmpfs", "ramfs"}

SET_ASIDE = ("*.bad-*", "*.damaged-*")


def free_space(config: Config) -> Outcome:
    place = _existing(config.data_dir)
    free = shutil.disk_usage(place).free
    found = f"{_size(free)} free for {config.data_dir}"
    fix = "free space, or choose another place with --data-dir"
    if free < MIN_FREE_BYTES:
        return fail(f"{found}; under {_size(MIN_FREE_BYTES)} writes will soon be refused", fix)
    return warn(found, fix) if free < LOW_FREE_BYTES else ok(found)


def filesystem(config: Config) -> Outcome:
    kind = filesystem_of(_existing(config.data_dir))
    found = f"{config.data_dir} is on {kind or 'an unknown filesystem'}"
    if kind in NETWORK:
        return fail(found, "use a local disk or a block volume (ReadWriteOncePod): --data-dir")
    if kind in VOLATILE:
        return warn(f"{found}, which is lost with the machine", "choose a directory on a disk with --data-dir")
    if kind == "overlay":
        return warn(f"{found}, which is lost with the container", "mount a volume there")
    return ok(found)


def commits(config: Config) -> Outcome:
    """Does what the ledger does: commits to an SQLite log with synchronous=FULL."""
    place = _existing(config.data_dir)
    if config.data_dir.exists() and not config.data_dir.is_dir():
        return fail(f"{config.data_dir} is not a directory", "choose another with --data-dir")
    try:
        with TemporaryDirectory(prefix=".doctor-", dir=place) as scratch:
            times = _commit_times(Path(scratch) / "commits.db")
    except OSError as error:
        return fail(
            f"{place} cannot be written: {error.strerror}", f"chown {os.getuid()} {place}, or choose --data-dir"
        )
    except sqlite3.Error as error:
        return fail(f"SQLite cannot commit in {place}: {error}", "use a local disk or a block volume: --data-dir")
    typical = statistics.median(times)
    found = f"a durable commit takes {typical * 1000:.2f} ms"
    if typical > SLOW_COMMIT_S:
        return warn(found, "every write waits for one; use a faster disk")
    return ok(found)


def owner(config: Config) -> Outcome:
    if holder := owner_of(config.data_dir):
        return ok(f"{config.data_dir} is in use by {holder}, as it should be while the sidecar runs")
    return ok("no process owns the data directory")


def set_aside(config: Config) -> Outcome:
    if not config.data_dir.is_dir():
        return ok("nothing was set aside")
    found = sorted({path for pattern in SET_ASIDE for path in config.data_dir.rglob(pattern)})
    top = [path for path in found if not any(parent in path.parents for parent in found)]
    if not top:
        return ok("nothing was set aside")
    names = " ".join(str(path) for path in top)
    return warn(
        f"{len(top)} damaged file{'s were' if len(top) > 1 else ' was'} set aside and rebuilt",
        f"run `memsidecar verify`; when it is clean and nobody wants to look into it: rm -r {names}",
    )


def filesystem_of(path: Path) -> str:
    """The type that the kernel names for the mount that holds `path`; "" where it does not say."""
    if sys.platform != "linux":
        return ""
    resolved = path.resolve()
    best, kind = -1, ""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        left, _, right = line.partition(" - ")
        mount = Path(left.split()[4].encode().decode("unicode_escape"))
        if resolved.is_relative_to(mount) and len(mount.parts) >= best:  # a later mount hides an earlier one
            best, kind = len(mount.parts), right.split()[0]
    return kind


def _commit_times(database: Path) -> list[float]:
    times = []
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        if connection.execute("PRAGMA journal_mode=WAL").fetchone()[0] != "wal":
            raise sqlite3.OperationalError("this filesystem has no write-ahead log")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE entry (payload BLOB)")
        for _ in range(COMMITS):
            started = time.perf_counter()
            connection.execute("INSERT INTO entry VALUES (zeroblob(1024))")
            times.append(time.perf_counter() - started)
    return times


def _existing(path: Path) -> Path:
    """The directory itself, else the nearest one above it that exists: what holds for it will hold for its child."""
    return next((each for each in (path, *path.parents) if each.is_dir()), Path("/"))


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"
