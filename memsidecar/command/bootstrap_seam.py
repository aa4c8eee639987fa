"""What the commands need from the wiring, which loads every library and so is imported only when it is used."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any, Protocol, cast

from memsidecar.config import Config
from memsidecar.domain.finding import Finding


class Bootstrap(Protocol):
    """The module memsidecar.bootstrap."""

    def run(self, config: Config) -> Coroutine[Any, Any, None]:
        """Serves until SIGTERM or SIGINT, then drains; returns when everything is closed.

        Raises DataDirectoryBusy, StoreUnavailable, StoreFull, ModelUnavailable when it cannot start.
        """
        ...

    def verify(self, config: Config, repair: bool) -> Coroutine[Any, Any, Sequence[Finding]]:
        """Compares ledger, graph, vectors and keywords; with `repair`, rebuilds what differs from the ledger.

        Raises DataDirectoryBusy while a sidecar runs on the same data directory.
        """
        ...

    def serving(self, config: Config) -> AbstractAsyncContextManager[None]:
        """Serves inside the block, drains at its end. Raises as `run`."""
        ...


def bootstrap() -> Bootstrap:
    return cast(Bootstrap, import_module("memsidecar.bootstrap"))
