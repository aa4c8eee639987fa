"""Clients in processes of their own: `python -m MODULE JSON`, a line of JSON for each thing that they have to tell."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tests.benchmarks.writers import ROOT


class Client:
    """A running client. It goes on at `go`, and ends by itself or by `kill`."""

    def __init__(self, module: str, **fields: object) -> None:
        command = [sys.executable, "-m", module, json.dumps(fields)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def told(self) -> Mapping[str, Any]:
        """What it tells next. Raises RuntimeError when it has ended instead."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a client process ended with {self._process.wait()}")
        told: Mapping[str, Any] = json.loads(line)
        return told

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def last(self) -> Mapping[str, Any]:
        """What it tells at its end."""
        told = self.told()
        self._process.communicate()
        return told

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def fields() -> dict[str, Any]:
    """In the client: what it was given."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    return given


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


async def told_to_go() -> None:
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
