"""The stores compared with the ledger, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from memsidecar.adapters.data_directory import DataDirectory
from memsidecar.bootstrap.checking import check_settings
from memsidecar.bootstrap.shown import Shown
from memsidecar.bootstrap.stores import open_stores
from memsidecar.config import Config
from memsidecar.domain.finding import Finding
from memsidecar.services.verification import Verification


async def verify(config: Config, repair: bool) -> Sequence[Finding]:
    """Compare ledger, graph, vectors and keywords; with `repair`, rebuild what differs from the ledger.

    Raises DataDirectoryBusy while a sidecar runs on the same data directory.
    """
    check_settings(config)
    async with AsyncExitStack() as stack:
        stack.enter_context(DataDirectory.open(config.data_dir))
        stores = await open_stores(config, stack, Shown())
        await stores.projector.wait_until_caught_up()
        check = Verification(
            stores.ledger,
            stores.codec,
            stores.graph,
            stores.projector,
            stores.indexes,
            stores.snapshots,
            stores.space,
        )
        return [finding async for finding in check(repair)]
