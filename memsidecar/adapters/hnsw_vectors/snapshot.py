"""Snapshots of an index on disk.

A folder holds data files named after their checksum, and `snapshot.json`, which names them. Data files are written
and synced first; replacing `snapshot.json` is the one step that makes a snapshot current, so a kill at any
instruction leaves the old one or the new one. What no snapshot names is deleted by the next save.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from memsidecar.adapters.hnsw_vectors.contents import Contents
from memsidecar.adapters.hnsw_vectors.exact_tail import ExactTail
from memsidecar.adapters.hnsw_vectors.neighbour_graph import NeighbourGraph
from memsidecar.adapters.hnsw_vectors.row_table import RowTable
from memsidecar.domain.errors import StoreFull, StoreUnavailable

_log = logging.getLogger(__name__)

_FORMAT = 1
_MANIFEST = "snapshot.json"
_CHECKSUM = "sha256"


@dataclass(frozen=True, slots=True)
class _Manifest:
    format: int
    mark: int
    """Given by whoever saved it, to know it by."""
    dimensions: int
    vectors: int
    """Live ones."""
    moved: int
    graph_held: int
    graph_live: int
    arrays: str
    """Checksum of arrays-<checksum>.npz."""
    graph: str
    """Checksum of graph-<checksum>.hnsw, empty without hnswlib."""


class Snapshots:
    """Writes the snapshots of one index."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._one_at_a_time = threading.Lock()

    def write(self, folder: Path, mark: int) -> None:
        """Raises StoreFull, or StoreUnavailable when the disk fails; the snapshot before stays current then."""
        try:
            with self._one_at_a_time:
                folder.mkdir(parents=True, exist_ok=True)
                try:
                    self._write(folder, mark)
                finally:
                    for unfinished in folder.glob("*.part*"):
                        unfinished.unlink()
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreFull("vectors") from error
            raise StoreUnavailable("vectors", "cannot write its snapshot") from error

    def _write(self, folder: Path, mark: int) -> None:
        contents = self._contents
        fresh_graph = folder / "graph.part"
        with contents.lock:
            graph, moved, vectors = contents.graph, contents.moved, contents.table.live_vectors
            owners = contents.table.owners.copy()
            views = contents.tail.views
            changes, held, live = (graph.changes, graph.held, graph.live) if graph is not None else (0, 0, 0)
            checksum = _still_there(folder, graph)
            if graph is not None and not checksum:
                graph.save(fresh_graph)
        if graph is not None and not checksum:
            checksum = _settle(fresh_graph, "graph", ".hnsw")
            graph.saved = (changes, checksum)
        fresh_arrays = folder / "arrays.part.npz"
        tail = np.concatenate(views) if views else np.empty((0, contents.dimensions), np.float32)
        np.savez(fresh_arrays, owners=owners, tail=tail)
        arrays = _settle(fresh_arrays, "arrays", ".npz")
        manifest = _Manifest(_FORMAT, mark, contents.dimensions, vectors, moved, held, live, arrays, checksum)
        _replace_manifest(folder, manifest)
        named = {_MANIFEST, _arrays_name(arrays), _graph_name(checksum)}
        for path in folder.iterdir():
            if path.name not in named and path.name.startswith(("graph", "arrays", _MANIFEST)):
                path.unlink()


def _still_there(folder: Path, graph: NeighbourGraph | None) -> str:
    """The checksum of a file that holds this very graph; writing 160 MB again would stall the interpreter."""
    if graph is None or graph.saved[0] != graph.changes:
        return ""
    checksum = graph.saved[1]
    return checksum if (folder / _graph_name(checksum)).is_file() else ""


def read_snapshot(folder: Path, dimensions: int, mark: int, build_threads: int) -> Contents | None:
    """What the folder's snapshot holds; None when there is none or it is not intact, which the log says."""
    try:
        text = (folder / _MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("vector snapshot cannot be read: %s", error.strerror)
        return None
    try:
        return _read(folder, _parsed(text), dimensions, mark, build_threads)
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        _log.warning("vector snapshot is not intact, it will be rebuilt: %s", error)
        return None


def _read(folder: Path, manifest: _Manifest, dimensions: int, mark: int, build_threads: int) -> Contents:
    if (manifest.format, manifest.dimensions, manifest.mark) != (_FORMAT, dimensions, mark):
        raise ValueError("it has another format, other dimensions or another mark")
    arrays = _verified(folder / _arrays_name(manifest.arrays), manifest.arrays)
    with np.load(arrays, allow_pickle=False) as loaded:
        owners, tail = loaded["owners"], loaded["tail"]
    if owners.dtype != np.int32 or tail.dtype != np.float32 or tail.shape != (len(owners) - manifest.moved, dimensions):
        raise ValueError("its arrays do not fit together")
    contents = Contents(dimensions)
    contents.table = RowTable.of(owners)
    contents.tail = ExactTail.of(tail)
    contents.tail_dead = int(np.count_nonzero(owners[manifest.moved :] < 0))
    contents.moved = manifest.moved
    if manifest.graph:
        path = _verified(folder / _graph_name(manifest.graph), manifest.graph)
        held, live = manifest.graph_held, manifest.graph_live
        contents.graph = NeighbourGraph.load(path, dimensions, build_threads, held, live)
        contents.graph.saved = (contents.graph.changes, manifest.graph)
    return contents


def _settle(path: Path, kind: str, suffix: str) -> str:
    """Sync a written file and name it after its checksum."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        checksum = hashlib.file_digest(file, _CHECKSUM).hexdigest()
    path.replace(path.with_name(f"{kind}-{checksum}{suffix}"))
    return checksum


def _verified(path: Path, checksum: str) -> Path:
    with path.open("rb") as file:
        if hashlib.file_digest(file, _CHECKSUM).hexdigest() != checksum:
            raise ValueError(f"{path.name.partition('-')[0]} fails its checksum")
    return path


def _replace_manifest(folder: Path, manifest: _Manifest) -> None:
    fields = asdict(manifest)
    part = folder / f"{_MANIFEST}.part"
    with part.open("w") as file:
        json.dump({**fields, "checksum": _checksum_of(fields)}, file)
        file.flush()
        os.fsync(file.fileno())
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        part.replace(folder / _MANIFEST)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _parsed(text: bytes) -> _Manifest:
    fields = json.loads(text)
    if not isinstance(fields, dict):
        raise ValueError("its manifest is not an object")
    if fields.pop("checksum") != _checksum_of(fields):
        raise ValueError("its manifest fails its checksum")
    return _Manifest(**fields)


def _checksum_of(fields: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _arrays_name(checksum: str) -> str:
    return f"arrays-{checksum}.npz"


def _graph_name(checksum: str) -> str:
    return f"graph-{checksum}.hnsw"
