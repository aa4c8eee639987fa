"""`python -m tests.soak --minutes 10`: everything at once for a while, with restarts, and every promise checked.

Says at once what promise is broken, and ends with 1 then. A kind of use is added to WORKERS.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from memsidecar_client import AsyncMemsidecar

from tests.e2e.process import CLIENT_VECTORS
from tests.sidecar import Sidecar
from tests.soak.generations import Generations
from tests.soak.process import Footprint, Restarts
from tests.soak.watches import Watches
from tests.soak.worker import MakeWorker, Soak, Worker

WORKERS: dict[str, MakeWorker] = {
    "restarts": Restarts,
    "footprint": Footprint,
    "watches": Watches,
    "generations": Generations,
}
SETTINGS = {
    **CLIENT_VECTORS,
    "limits.heartbeat": "1",
    # Generations use all of it at each stop.
    "drain_grace": "3",
    "log.format": "json",
    # Hardly more than are open: streams that stay behind use them up, and new ones are refused.
    "generation.max_streams": "24",
    "generation.max_streams_per_namespace": "24",
}
PROGRESS_SECONDS = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Use a sidecar hard, and check it.")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default 10)")
    parser.add_argument("--seed", type=int, default=20261130, help="of everything that is chosen at random")
    parser.add_argument("--only", nargs="+", choices=WORKERS, default=list(WORKERS), help="kinds of use (default all)")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        faults = asyncio.run(_soak(Path(folder), chosen.minutes * 60, chosen.seed, chosen.only))
    print(f"{len(faults)} promises broken" if faults else "every promise kept")
    return 1 if faults else 0


async def _soak(folder: Path, seconds: float, seed: int, names: Sequence[str]) -> list[str]:
    sidecar = Sidecar(folder / "data", SETTINGS)
    workers = {name: WORKERS[name]() for name in names}
    try:
        await asyncio.to_thread(sidecar.start)
        async with AsyncMemsidecar(sidecar.target, timeout=30) as client:
            soak = Soak(sidecar, client, seed)
            async with asyncio.TaskGroup() as tasks:
                for worker in workers.values():
                    tasks.create_task(_guarded(worker, soak))
                await _wait(soak, workers, seconds)
        code = await asyncio.to_thread(sidecar.stop)
        soak.expect(code == 0, f"the last stop ended with exit code {code}")
        return soak.faults
    finally:
        sidecar.close()


async def _guarded(worker: Worker, soak: Soak) -> None:
    """A worker that fails ends the soak, and is a broken promise itself."""
    try:
        await worker.run(soak)
    except Exception as error:
        soak.expect(False, f"{type(worker).__name__} failed: {error!r}")
        soak.stop.set()


async def _wait(soak: Soak, workers: dict[str, Worker], seconds: float) -> None:
    began = time.monotonic()
    while (left := began + seconds - time.monotonic()) > 0 and await soak.pause(min(PROGRESS_SECONDS, left)):
        parts = "; ".join(worker.progress() for worker in workers.values())
        print(f"{time.monotonic() - began:6.0f} s  {parts}; {len(soak.faults)} broken", flush=True)
    soak.stop.set()


if __name__ == "__main__":
    sys.exit(main())
