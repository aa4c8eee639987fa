"""A system at work in its own process, within a budget of time."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.systems import System
from tests.benchmarks.writers import ROOT

# What a call may take beyond its budget: the batch that was under way, and the rest after it.
_GRACE = 60.0


class GaveUp(Exception):
    """It did not do it in the time it had, or failed; `str()` says so, in the few words that a table has room for."""


class Contestant:
    """`system` on the store in `folder`, fed from the files in `data`. Close it."""

    def __init__(self, system: System, python: Path, folder: Path, data: Path) -> None:
        self.system = system
        self._log = folder.with_name(folder.name + ".runner.log")
        command = [str(python), "-m", f"tests.benchmarks.compare.{system.module}", *system.arguments]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        # An agent's own process has the libraries' default of threads; output must not wait for a full buffer.
        environment |= {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "", "TQDM_DISABLE": "1"}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(folder), str(data)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env=environment,
            )

    def open(self) -> Mapping[str, str]:
        """Open an empty store; the versions of what it runs on."""
        versions: Mapping[str, str] = self._ask({"do": "open"}, _GRACE)
        return versions

    def ingest(self, budget: float) -> Mapping[str, float]:
        """{stored, seconds, settling}; `stored` is less than everything when the budget was used up."""
        report: Mapping[str, float] = self._ask({"do": "ingest", "seconds": budget}, budget + 5 * _GRACE)
        return report

    def search(self, mode: str, questions: Sequence[int], budget: float) -> list[float]:
        """Seconds of each call, fewer than questions when the budget was used up."""
        command = {"do": "search", "mode": mode, "questions": list(questions), "seconds": budget}
        taken: list[float] = self._ask(command, budget + _GRACE)
        return taken

    def hits(self, mode: str, questions: Sequence[int], budget: float) -> list[list[str]]:
        """The texts found for each question."""
        found: list[list[str]] = self._ask({"do": "hits", "mode": mode, "questions": list(questions)}, budget + _GRACE)
        return found

    def peak_bytes(self) -> int:
        return int(self._ask({"do": "peak"}, _GRACE))

    def first_answer(self, mode: str, budget: float) -> float:
        """Open what an earlier process stored, and search once: seconds."""
        return float(self._ask({"do": "first", "mode": mode}, budget))

    def close(self) -> None:
        """End it as a program ends; by force when it does not."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _ask(self, command: Mapping[str, Any], patience: float) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._failure() from error
        started = time.monotonic()
        if not select.select([self._process.stdout], [], [], patience)[0]:
            self._process.terminate()
            raise GaveUp(f"> {time.monotonic() - started:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise self._failure()
        return json.loads(line)

    def _failure(self) -> Exception:
        """A competitor that fails is left out of what follows; when memsidecar does, there is nothing to compare."""
        code = self._process.wait()
        log = self._log.read_text(errors="replace")
        if not self.system.requirements:
            return RuntimeError(f"{self.system.name} ended with {code}:\n{log[-3000:]}")
        print(f"{self.system.name} ended with {code}:\n{log[-1000:]}", flush=True)
        return GaveUp("failed")
