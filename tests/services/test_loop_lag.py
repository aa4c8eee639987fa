from __future__ import annotations

import asyncio
import threading
import time

import pytest

from memsidecar.services import loop_lag as module
from memsidecar.services.loop_lag import LoopLag
from tests.session_servers import until


async def test_a_loop_that_stands_still_is_seen_from_another_thread_and_counted_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "EVERY", 0.01)
    lag = LoopLag()
    lag.start()
    stalled = {metric.name: metric for metric in lag.metrics()}["memsidecar_event_loop_stalled_seconds"]
    seen: list[float] = []

    def look() -> None:
        time.sleep(0.3)
        seen.extend(float(value) for _, value in stalled.read())  # type: ignore[arg-type]

    looking = threading.Thread(target=look)
    looking.start()
    looking.join()
    assert seen[0] > 0.2

    async def counted() -> bool:
        return lag.seconds.total > 0.2

    await until(counted)
    lag.close()
    await asyncio.sleep(0.05)
    assert list(stalled.read()) == [((), 0.0)]
