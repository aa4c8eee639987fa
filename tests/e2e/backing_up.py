"""Backups, restores and checks without a process of their own, each of which takes a second to start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from memsidecar import bootstrap
from memsidecar.adapters.backup_directory import Manifest
from memsidecar.bootstrap.restoring import Restored
from memsidecar.config import Config, Redis
from memsidecar.config.models import Embedding
from memsidecar.domain.finding import Finding
from memsidecar.domain.point_in_time import PointInTime
from tests.e2e.process import CLIENT_VECTORS, DIMENSIONS


def _config(data: Path, url: str = "") -> Config:
    embedding = Embedding(provider="client", model=CLIENT_VECTORS["embedding.model"], dimensions=DIMENSIONS)
    return Config(data_dir=data, embedding=embedding, redis=Redis(url=url))


def _silent(what: str, done: int, total: int) -> None:
    pass


def back_up(data: Path, target: Path, url: str = "") -> Manifest:
    return bootstrap.back_up(_config(data, url), target, _silent)


def restore(
    source: Path,
    data: Path,
    until: PointInTime | None = None,
    set_aside: bool = False,
    progress: Callable[[str, int, int], None] = _silent,
) -> Restored:
    return bootstrap.restore(_config(data), source, until, set_aside, progress)


def findings(data: Path) -> list[Finding]:
    """What `memsidecar verify` finds."""
    return list(asyncio.run(bootstrap.verify(_config(data), False)))
