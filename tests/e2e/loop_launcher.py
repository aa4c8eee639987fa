"""`memsidecar` with a watched event loop: `python -m tests.e2e.loop_launcher FILE serve ...`.

Callbacks over the limit are collected once it is ready, until it is told to stop; FILE gets them as JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memsidecar.__main__ import main
from memsidecar.server.app import Server
from tests.loop_monitor import LoopMonitor

_start, _drain = Server.start, Server.drain


def watch(file: Path) -> None:
    monitor = LoopMonitor()

    def write(seen: LoopMonitor) -> None:
        file.write_text(
            json.dumps({"callbacks": seen.callbacks, "slowdown": seen.slowdown, "slow": [asdict(s) for s in seen.slow]})
        )

    async def start(server: Server) -> None:
        await _start(server)
        monitor.start()

    async def drain(server: Server, grace: float) -> None:
        monitor.stop()
        write(monitor)
        await _drain(server, grace)

    watched: Any = Server
    watched.start, watched.drain = start, drain


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
    raise SystemExit(main(sys.argv[2:]))
