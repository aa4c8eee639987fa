from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import pytest

from memsidecar.config import Config
from memsidecar.domain.finding import Finding


class FakeBootstrap(ModuleType):
    """Stands where memsidecar.bootstrap does; remembers what it was called with."""

    def __init__(self) -> None:
        super().__init__("memsidecar.bootstrap")
        self.calls: list[tuple[str, Config]] = []
        self.findings: Sequence[Finding] = ()
        self.repair = False
        self.before_return: Callable[[], None] = lambda: None

    async def run(self, config: Config) -> None:
        self.calls.append(("run", config))
        self.before_return()

    async def verify(self, config: Config, repair: bool) -> Sequence[Finding]:
        self.calls.append(("verify", config))
        self.repair = repair
        self.before_return()
        return self.findings

    async def demo(self, config: Config) -> None:
        self.calls.append(("demo", config))
        self.before_return()


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
    root, own = logging.getLogger(), logging.getLogger("memsidecar")
    before = (root.handlers[:], root.level, own.level)
    yield
    root.handlers[:], root.level, own.level = before
