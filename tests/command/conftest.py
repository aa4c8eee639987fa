from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from memsidecar.adapters.backup_directory import Manifest
from memsidecar.bootstrap.restoring import Restored
from memsidecar.command.bootstrap_seam import Progress
from memsidecar.config import Config
from memsidecar.domain.finding import Finding
from memsidecar.domain.point_in_time import Cut, PointInTime

MANIFEST = Manifest(
    memsidecar="1.2.3",
    created="2026-11-30T10:00:00.000000Z",
    seconds=0.5,
    data_directory_format=1,
    ledger_format=1,
    entries=3,
    oldest="",
    newest="",
    embedding="use",
    graph_engine="kuzu",
    sessions="external",
    vectors=(),
    partitions=(),
    files=(),
)


class FakeBootstrap(ModuleType):
    """Stands where memsidecar.bootstrap does; remembers what it was called with."""

    def __init__(self) -> None:
        super().__init__("memsidecar.bootstrap")
        self.calls: list[tuple[str, Config]] = []
        self.findings: Sequence[Finding] = ()
        self.repair = False
        self.before_return: Callable[[], None] = lambda: None
        self.asked: tuple[Path, PointInTime | None, bool] | None = None
        self.cuts: Sequence[Cut] = ()
        self.aside: Path | None = None

    async def run(self, config: Config) -> None:
        self.calls.append(("run", config))
        self.before_return()

    async def verify(self, config: Config, repair: bool) -> Sequence[Finding]:
        self.calls.append(("verify", config))
        self.repair = repair
        self.before_return()
        return self.findings

    def back_up(self, config: Config, target: Path, progress: Progress) -> Manifest:
        self.calls.append(("back_up", config))
        return MANIFEST

    def restore(
        self, config: Config, source: Path, until: PointInTime | None, set_aside: bool, progress: Progress
    ) -> Restored:
        self.calls.append(("restore", config))
        self.asked = (source, until, set_aside)
        return Restored(MANIFEST, 3, 1, until is None, self.cuts, self.aside)


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch) -> FakeBootstrap:
    fake = FakeBootstrap()
    monkeypatch.setitem(sys.modules, "memsidecar.bootstrap", fake)
    return fake


@pytest.fixture(autouse=True)
def _clean_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No MEMSIDECAR_ variables of the developer's, and the logging that was there before."""
    for name in [name for name in os.environ if name.startswith("MEMSIDECAR_")]:
        monkeypatch.delenv(name)
    # A backup makes its process yield to others, for good.
    monkeypatch.setattr(os, "nice", lambda increment: 0)
    root, own = logging.getLogger(), logging.getLogger("memsidecar")
    before = (root.handlers[:], root.level, own.level)
    yield
    root.handlers[:], root.level, own.level = before
