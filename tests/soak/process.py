"""The process goes and comes, by force and in order; what it takes from the machine stays bounded."""

from __future__ import annotations

import asyncio
import random

import psutil

from tests.soak.worker import Soak

# Between restarts, in seconds.
SHORTEST, LONGEST = 10.0, 25.0
# A process that has run for a while under the load of the soak; the embedder is not in it.
MOST_MB = 700
MOST_FILES = 400


class Restarts:
    def __init__(self) -> None:
        self.kills = self.stops = 0

    async def run(self, soak: Soak) -> None:
        dice = random.Random(f"{soak.seed} restarts")
        while await soak.pause(dice.uniform(SHORTEST, LONGEST)):
            async with soak.restarting:
                if dice.random() < 0.5:
                    soak.sidecar.kill()
                    self.kills += 1
                else:
                    code = await asyncio.to_thread(soak.sidecar.stop)
                    soak.expect(code == 0, f"a stop ended with exit code {code}")
                    self.stops += 1
                await asyncio.to_thread(soak.sidecar.start)

    def progress(self) -> str:
        return f"{self.kills} kills, {self.stops} stops"


class Footprint:
    """Memory, files and log of the process."""

    def __init__(self) -> None:
        self.megabytes = self.most = 0
        self._read = 0

    async def run(self, soak: Soak) -> None:
        while await soak.pause(2.0):
            async with soak.restarting:
                self._look(soak)
        async with soak.restarting:
            self._look(soak)

    def _look(self, soak: Soak) -> None:
        process = psutil.Process(soak.sidecar.pid)
        self.megabytes = process.memory_info().rss // 2**20
        self.most = max(self.most, self.megabytes)
        soak.expect(self.megabytes <= MOST_MB, f"the process takes {self.megabytes} MB")
        soak.expect(process.num_fds() <= MOST_FILES, f"the process has {process.num_fds()} files open")
        log = soak.sidecar.log()
        new, self._read = log[self._read :], len(log)
        for line in new.splitlines():
            bad = "Traceback" in line or "defect" in line or '"level": "error"' in line
            soak.expect(not bad, f"the log says: {line[:300]}")

    def progress(self) -> str:
        return f"{self.megabytes} MB (most {self.most})"
