"""`memsidecar demo`: the real process, and a story told to it through the API."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol, cast

from memsidecar.command import exit_codes
from memsidecar.command.settings import DEFAULT, Loaded, flag_of
from memsidecar.config import settings

SERVE: Final = (sys.executable, "-m", "memsidecar", "serve")
# All that a sidecar may listen on besides its socket.
PORTS: Final = ("listen.tcp_port", "health.port", "metrics.port")


class Demo(Protocol):
    """The module memsidecar.command.demo.play."""

    def play(self, target: str) -> Coroutine[Any, Any, bool]:
        """Tells the story to the sidecar at `target` (a gRPC address), asks, and prints what is recalled.

        The sidecar may still be starting: waits for it to be ready. False when a question did not find its answer.
        """
        ...


def run_demo(loaded: Loaded, flags: Mapping[str, str], config_file: str) -> int:
    """Plays beside any sidecar that runs already: in a directory of its own unless --data-dir names one."""
    with TemporaryDirectory(prefix="memsidecar-demo-") as scratch:
        chosen = dict(flags)
        if loaded.sources["data_dir"] == DEFAULT:
            chosen["data_dir"] = f"{scratch}/data"
        if loaded.sources["log.level"] == DEFAULT:
            chosen["log.level"] = "warning"
        # A socket in the scratch directory and no ports: nothing to collide with.
        chosen |= {"listen.socket": f"{scratch}/demo.sock"} | dict.fromkeys(PORTS, "0")
        words = [f"{flag_of(settings()[key])}={text}" for key, text in chosen.items()]
        if config_file:
            words.append(f"--config={Path(config_file).absolute()}")
        demo = cast(Demo, import_module("memsidecar.command.demo.play"))
        return asyncio.run(_play_beside(demo.play(f"unix://{chosen['listen.socket']}"), words))


async def _play_beside(story: Coroutine[Any, Any, bool], words: list[str]) -> int:
    """PROBLEM or the sidecar's own code when it ends before the story does."""
    sidecar = await asyncio.create_subprocess_exec(*SERVE, *words)
    playing = asyncio.ensure_future(story)
    ended = asyncio.ensure_future(sidecar.wait())
    try:
        await asyncio.wait({playing, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            return sidecar.returncode or exit_codes.PROBLEM
        return exit_codes.OK if playing.result() else exit_codes.PROBLEM
    finally:
        playing.cancel()
        if sidecar.returncode is None:
            sidecar.terminate()
        await asyncio.wait({playing, ended})
