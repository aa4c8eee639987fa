"""`memsidecar demo`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from memsidecar.command import exit_codes
from memsidecar.command.bootstrap_seam import bootstrap
from memsidecar.command.logs import configure
from memsidecar.command.settings import DEFAULT, Loaded
from memsidecar.command.demo.play import play
from memsidecar.config import Config, Health, Listen, Log


def demo(loaded: Loaded) -> int:
    """Plays the demo beside any sidecar that runs already: in a directory of its own unless --data-dir names one."""
    config = loaded.config
    configure(config.log if loaded.sources["log.level"] != DEFAULT else Log(level="warning"))
    with TemporaryDirectory(prefix="memsidecar-demo-") as scratch:
        if loaded.sources["data_dir"] == DEFAULT:
            config = replace(config, data_dir=Path(scratch))
        # A socket in the scratch directory and no ports: nothing to collide with.
        config = replace(config, listen=Listen(socket=f"{scratch}/demo.sock"), health=Health(port=0))
        return asyncio.run(_serve_and_play(config))


async def _serve_and_play(config: Config) -> int:
    async with bootstrap().serving(config):
        found = await play(f"unix://{config.socket_path}")
    return exit_codes.OK if found else exit_codes.PROBLEM
