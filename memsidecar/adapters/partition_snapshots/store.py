"""One folder a partition: `records` (a JSON line, then numpy arrays) and the vector index's own folder.

A file is written beside, synced and renamed, and starts with the SHA-256 of all the rest: it is whole, or it is not
used.
"""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
import os
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.errors import StoreFull, StoreUnavailable
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Head
from memsidecar.ports.snapshots import Arrays

_log = logging.getLogger(__name__)

# Raised when the arrays' layout changes, or how what is in them is worked out of a text (tokens, traits, the numbers of
# folding): older snapshots are then ignored, and replaced.
FORMAT = 9


class SnapshotFiles:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def load(self, partition: Partition) -> tuple[Head, Arrays] | None:
        return await asyncio.to_thread(self._load, partition)

    async def save(self, partition: Partition, head: Head, arrays: Arrays) -> None:
        await asyncio.to_thread(self._save, partition, head, arrays)

    async def drop(self, partition: Partition) -> None:
        await asyncio.to_thread(shutil.rmtree, self._folder(partition), ignore_errors=True)

    def vectors_folder(self, partition: Partition) -> Path:
        return self._folder(partition) / "vectors"

    def _folder(self, partition: Partition) -> Path:
        # A hash, because a user's id may be longer than a file name, and says who the user is.
        return self._directory / sha256(partition.name.encode()).hexdigest()[:32]

    def _load(self, partition: Partition) -> tuple[Head, Arrays] | None:
        try:
            with (self._folder(partition) / "records").open("rb") as file:
                meta = json.loads(file.readline())
                body = file.read()
            if meta.pop("sha256") != _checksum(meta, body):
                raise ValueError("the checksum does not fit")
            if meta["format"] != FORMAT or meta["partition"] != partition.name:
                return None
            arrays: dict[str, NDArray[Any]] = {}
            stream = io.BytesIO(body)
            for name in meta["arrays"]:
                arrays[name] = np.load(stream, allow_pickle=False)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, AttributeError, EOFError) as error:
            _log.warning("a snapshot is not intact and is ignored", extra={"problem": str(error)})
            return None
        return Head(int(meta["revision"]), bytes.fromhex(meta["chain"])), arrays

    def _save(self, partition: Partition, head: Head, arrays: Arrays) -> None:
        folder = self._folder(partition)
        body = io.BytesIO()
        for array in arrays.values():
            np.save(body, array, allow_pickle=False)
        meta = {
            "format": FORMAT,
            "partition": partition.name,
            "revision": head.revision,
            "chain": head.chain.hex(),
            "arrays": list(arrays),
        }
        header = json.dumps({**meta, "sha256": _checksum(meta, body.getbuffer())})
        fresh = folder / "records.new"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with fresh.open("wb") as file:
                file.write(header.encode() + b"\n")
                file.write(body.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(folder / "records")
        except OSError as error:
            fresh.unlink(missing_ok=True)
            if error.errno == errno.ENOSPC:
                raise StoreFull("snapshots") from error
            raise StoreUnavailable("snapshots", "cannot be written") from error


def _checksum(meta: Mapping[str, object], body: bytes | memoryview) -> str:
    digest = sha256(json.dumps(meta, sort_keys=True).encode())
    digest.update(body)
    return digest.hexdigest()
