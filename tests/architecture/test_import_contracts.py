"""The contracts hold, and each of them catches what it is there for: a planted violation in a copy of the package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [str(program), "--no-cache"], cwd=folder, capture_output=True, text=True, check=False, env={"PYTHONPATH": "."}
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignore = shutil.ignore_patterns("__pycache__", "*.npz")
    shutil.copytree(ROOT / "memsidecar", tmp_path / "memsidecar", ignore=ignore)
    return tmp_path


def test_the_contracts_hold(copy: Path) -> None:
    run = lint_imports(copy)
    assert run.returncode == 0, run.stdout + run.stderr


PLANTED = {
    "a service imports a vendor": ("services/planted.py", "import redis"),
    "a service imports an adapter": ("services/planted.py", "import memsidecar.adapters.data_directory"),
    "a service imports gRPC": ("services/planted.py", "import grpc"),
    "a service imports the protocol": ("services/planted.py", "import memsidecar.v1.memory_pb2"),
    "a service imports the server": ("services/planted.py", "import memsidecar.server"),
    "the server imports an adapter": ("server/planted.py", "import memsidecar.adapters.data_directory"),
    "the server imports a vendor": ("server/planted.py", "import sqlite3"),
    "an adapter imports another": (
        "adapters/system_runtime/planted.py",
        "import memsidecar.adapters.data_directory.directory",
    ),
    "an adapter reads the configuration": ("adapters/system_runtime/planted.py", "import memsidecar.config"),
    "an adapter imports gRPC": ("adapters/system_runtime/planted.py", "import grpc"),
    "a port imports a service": ("ports/planted.py", "import memsidecar.services"),
    "the domain imports a port": ("domain/planted.py", "import memsidecar.ports.runtime"),
    "the domain imports a vendor": ("domain/planted.py", "import openai"),
    "the domain looks at the clock": ("domain/planted.py", "import time"),
    "the domain waits": ("domain/planted.py", "import asyncio"),
    "a service handles messages": ("services/planted.py", "import google.protobuf.message"),
    "the configuration imports the command line": ("config/planted.py", "import memsidecar.command.values"),
    "a module stands outside the layers": ("shared_things.py", ""),
}


@pytest.mark.parametrize("violation", PLANTED)
def test_a_planted_violation_is_caught(copy: Path, violation: str) -> None:
    name, line = PLANTED[violation]
    file = copy / "memsidecar" / name
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    file.write_text(f"{before}\n{line}\n", encoding="utf-8")
    run = lint_imports(copy)
    assert run.returncode == 1, run.stdout + run.stderr
    caught = file.stem if not before else f"memsidecar.{file.stem} -> "
    assert caught in run.stdout
