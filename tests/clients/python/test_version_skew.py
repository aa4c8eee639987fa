"""The client works with the oldest and the newest grpcio and protobuf it allows, installed from source alone.

Slow: builds two virtual environments from the package index. `python -m pytest tests/clients/python -m slow -s`
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CLIENT = ROOT / "clients" / "python"

OLDEST = ("grpcio==1.62.3", "protobuf==4.25.9")
NEWEST = ("grpcio>=1.85", "protobuf>=7,<8")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("versions", [OLDEST, NEWEST], ids=["oldest", "newest"])
def test_round_trip_in_a_bare_environment(versions: tuple[str, ...], tmp_path: Path) -> None:
    # A copy, because building leaves folders in the source.
    source = tmp_path / "client"
    shutil.copytree(CLIENT, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-cache-dir", *versions, str(source)], check=True)
    installed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split("==")[0].replace("_", "-").lower() for line in installed.splitlines()}
    assert names <= {"pip", "setuptools", "grpcio", "protobuf", "memsidecar-client", "typing-extensions"}
    ran = subprocess.run(
        [python, "-W", "error", str(HERE / "skew_roundtrip.py")],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert ran.returncode == 0, ran.stderr
    print(ran.stdout)
