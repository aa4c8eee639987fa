"""Files that are not to be used again, kept in folders of their own for whoever wants to know why."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from memsidecar.adapters.kuzu_graph.record import sync_directory

# A whole graph that could not be trusted: never deleted.
GRAPH = "graph.bad"
# A log that was not replayed: each unclean end may leave one, of 64 MB at most.
LOG = "graph.unreplayed"
_LOGS_KEPT = 3


def set_aside(directory: Path, files: Iterable[Path], name: str) -> Path:
    """Move files of a directory into a new folder `<name>-<UTC time>` in it; folders sort by age."""
    while True:
        seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        target = directory / f"{name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(seconds))}.{nanoseconds:09}"
        try:
            target.mkdir()
            break
        except FileExistsError:
            continue
    for path in files:
        path.rename(target / path.name)
    sync_directory(directory)
    return target


def forget_old_logs(directory: Path) -> None:
    """Delete all but the newest few logs, so that kill after kill does not fill the disk."""
    for path in sorted(directory.glob(f"{LOG}-*"))[:-_LOGS_KEPT]:
        shutil.rmtree(path)
