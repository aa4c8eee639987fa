"""The same suites on ladybug, in a process of its own: it cannot be imported beside kuzu."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.contracts.test_graph_store import ENGINE

_ROOT = Path(__file__).parents[3]


@pytest.mark.timeout(600)
async def test_every_suite_passes_on_ladybug() -> None:
    if ENGINE != "kuzu":
        return
    suites = [
        "tests/contracts/test_graph_store.py",
        "tests/contracts/test_graph_ties.py",
        "tests/contracts/test_graph_histories.py",
        "tests/adapters/kuzu_graph/test_files.py",
        "tests/adapters/kuzu_graph/test_crash.py",
        "tests/adapters/kuzu_graph/test_opening.py",
        "tests/adapters/kuzu_graph/test_limits.py",
    ]
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-q", "-x", *suites),
        cwd=_ROOT,
        env={**os.environ, "MEMSIDECAR_TEST_ENGINE": "ladybug"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await child.communicate()
    assert child.returncode == 0, output.decode()
