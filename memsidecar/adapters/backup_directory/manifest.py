"""`manifest.json`: what a backup is of, and the size and SHA-256 of each of its files; its own, too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, Final

from memsidecar.domain.errors import BackupUnusable

FILE_NAME: Final = "manifest.json"
FORMAT: Final = 1
"""Version of a backup's layout. A release reads every version up to its own."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of the backup. `path` is relative to it."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StoredPartition:
    """Where one partition stands. `head` is the hash of its chain at `revision`, in hexadecimal."""

    namespace: str
    user: str
    revision: int
    head: str


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """How many memories have vectors of a model."""

    model: str
    dimensions: int
    memories: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """Times are RFC 3339, "" for none.

    `oldest` and `newest` are when the first and the last entry were recorded. `sessions` is "included", "none" (there
    are none yet) or "external" (they live in a server that this backup does not include). `embedding` and
    `graph_engine` are the settings of the process that made the backup; neither is needed to restore it.
    """

    memsidecar: str
    created: str
    seconds: float
    data_directory_format: int
    ledger_format: int
    entries: int
    oldest: str
    newest: str
    embedding: str
    graph_engine: str
    sessions: str
    vectors: tuple[StoredVectors, ...]
    partitions: tuple[StoredPartition, ...]
    files: tuple[StoredFile, ...]
    format: int = FORMAT

    @property
    def size(self) -> int:
        """Bytes of all files but the manifest."""
        return sum(file.size for file in self.files)

    def as_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def write_manifest(folder: Path, manifest: Manifest) -> Path:
    """Raises OSError."""
    plain = manifest.as_json()
    path = folder / FILE_NAME
    path.write_text(json.dumps({**plain, "sha256": _checksum(plain)}, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def read_manifest(folder: Path) -> Manifest:
    """Raises BackupUnusable when it is not there, is not what was written, or is of a later release."""
    path = folder / FILE_NAME
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        what = "has no manifest.json: it is no backup, or one that did not come to its end"
        raise BackupUnusable(str(folder), what if folder.is_dir() else "is not there") from error
    except OSError as error:
        raise BackupUnusable(str(path), f"cannot be read: {(error.strerror or 'unknown reason').lower()}") from error
    except ValueError as error:
        raise BackupUnusable(str(path), "is damaged: it is not JSON") from error
    if not isinstance(plain, dict) or not isinstance(plain.get("format"), int):
        raise BackupUnusable(str(path), "is damaged: it is no manifest")
    if plain["format"] > FORMAT:
        raise BackupUnusable(
            str(folder),
            f"was written by a later release (format {plain['format']}; this one reads formats up to {FORMAT}); "
            "restore it with that release",
        )
    if plain.pop("sha256", None) != _checksum(plain):
        raise BackupUnusable(str(path), "is not what was written: its own checksum does not fit")
    try:
        return _manifest(plain)
    except (KeyError, TypeError, ValueError) as error:
        raise BackupUnusable(str(path), "is damaged: it is no manifest") from error


def _manifest(plain: Mapping[str, Any]) -> Manifest:
    lists = {"vectors": StoredVectors, "partitions": StoredPartition, "files": StoredFile}
    found = {name: tuple(kind(**row) for row in plain[name]) for name, kind in lists.items()}
    # A later release of the same format may say more.
    known = {field.name: plain[field.name] for field in fields(Manifest)}
    manifest = Manifest(**{**known, **found})
    for file in manifest.files:
        place = PurePosixPath(file.path)
        if place.is_absolute() or ".." in place.parts:
            raise ValueError(file.path)
    return manifest


def _checksum(plain: Mapping[str, Any]) -> str:
    return sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
