"""The first command that a newcomer types."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(*words: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    program = shutil.which("make")
    assert program is not None
    environment = {"PATH": str(path) if path else "/usr/bin:/bin"}
    return subprocess.run(
        [program, "--no-print-directory", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def few_programs(tmp_path: Path) -> Path:
    """A PATH with a shell and this Python, and nothing else."""
    for name, target in (("sh", shutil.which("sh")), ("python3", sys.executable)):
        assert target is not None
        (tmp_path / name).symlink_to(target)
    return tmp_path


def test_make_alone_lists_the_targets() -> None:
    run = make()
    assert run.returncode == 0
    listed = {line.split()[0] for line in run.stdout.splitlines()}
    assert {"setup", "test", "demo", "demo-stream", "bench", "quality", "crash", "generate", "ci"} <= listed


def test_a_missing_prerequisite_is_named_with_the_command_that_installs_it(few_programs: Path) -> None:
    run = make("prerequisites", path=few_programs)
    assert run.returncode != 0
    assert run.stderr.splitlines()[:2] == ["missing: g++", "install with: sudo apt-get install g++"]


def test_a_missing_python_is_named(few_programs: Path) -> None:
    (few_programs / "python3").unlink()
    assert "sudo apt-get install python3 g++" in make("prerequisites", path=few_programs).stderr


def test_an_old_python_is_refused_with_the_way_to_name_another(few_programs: Path) -> None:
    (few_programs / "python3").unlink()
    (few_programs / "python3").write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.2\nexit 1\n')
    (few_programs / "python3").chmod(0o755)
    run = make("prerequisites", path=few_programs)
    assert "needs Python 3.11 or newer; python3 is Python 3.9.2" in run.stderr
    assert "make PYTHON=" in run.stderr


def test_every_script_is_executable_and_parses() -> None:
    scripts = [ROOT / ".ci/run", *ROOT.glob("proto/*.sh"), *ROOT.glob("tests/**/*.sh"), ROOT / "clients/go/check.sh"]
    assert len(scripts) >= 4
    for script in scripts:
        assert script.stat().st_mode & 0o111, script
        subprocess.run(["bash", "-n", str(script)], check=True)
        assert "set -euo pipefail" in script.read_text(encoding="utf-8")
