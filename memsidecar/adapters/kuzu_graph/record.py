"""graph.json: what the graph's main file is, and what was being done to it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

CREATING, STABLE, CHECKPOINT = "creating", "stable", "checkpoint"
NOT_HASHED = -1


@dataclass(frozen=True, slots=True)
class Record:
    """The content of graph.json. In phase `checkpoint`, size and checksum are those from before it.

    `attempts` counts checkpoints that were begun since one ended.
    """

    engine: str
    engine_version: str
    schema_version: int
    phase: str
    size: int = 0
    checksum: int = NOT_HASHED
    attempts: int = 0


def read(path: Path) -> Record:
    """Raises FileNotFoundError, and ValueError or TypeError for a file that is no record."""
    return Record(**json.loads(path.read_bytes()))


def write(path: Path, record: Record) -> None:
    """Durably; a kill leaves the old record or the new one."""
    new = path.with_name(path.name + ".tmp")
    with new.open("w") as file:
        json.dump(asdict(record), file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make renames, new and removed files in a directory durable."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
