"""A start that somebody gives up on ends as a stop does: exit code 0, and nothing in the log to look into."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.process import Launch, until
from tests.sidecar import ROOT

# Lines of a start, with the settings that make it write them.
LINES = {"loaded use": {"embedding.provider": "use", "embedding.dimensions": "0"}, '"msg": "ready"': {}}


@pytest.mark.parametrize("line", LINES)
def test_sigterm_right_after_a_line_of_the_start(launch: Launch, line: str) -> None:
    sidecar = launch(LINES[line], start=False)
    sidecar.start(wait=False)
    until(lambda: line in sidecar.log(), f"the line {line}", 60.0)
    assert sidecar.stop() == 0
    _assert_clean(sidecar.log())
    assert not sidecar.socket.exists()


def test_sigterm_while_libraries_are_imported(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMSIDECAR_")}
    # A setting that is none is told of in the log before anything is imported.
    environment |= {"PYTHONPATH": str(ROOT), "MEMSIDECAR_EMBEDING_PROVIDER": "e5"}
    command = [sys.executable, "-m", "memsidecar", "serve", f"--data-dir={tmp_path / 'data'}", "--health.port=0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        assert "EMBEDING" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        log = process.stderr.read()
    assert process.returncode == 0, log
    _assert_clean(log)
    assert not (tmp_path / "data").exists()


def _assert_clean(log: str) -> None:
    assert '"level": "error"' not in log
    assert "Traceback" not in log
    assert '"msg": "stopped"' in log
