"""An example agent as a process, and the model that it asks."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "clients" / "python" / "examples"
sys.path.append(str(EXAMPLES))

import scripted_model  # type: ignore[import-not-found]  # noqa: E402

PYTHON_AGENT = [sys.executable, str(EXAMPLES / "agent.py")]
# clients/go/check.sh names its own.
COMMAND = shlex.split(os.environ.get("MEMSIDECAR_AGENT", "")) or PYTHON_AGENT

NONE: Mapping[str, str] = {}

scripted = scripted_model.tokens
"""What the scripted model answers, in pieces."""


class Agent:
    """A run. What it shows is read as it comes; leaving the block kills what still runs."""

    def __init__(
        self, target: str, user: str, *words: str, stdin: int = subprocess.PIPE, variables: Mapping[str, str] = NONE
    ) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSIDECAR_", "OPENAI_"))}
        self._process = subprocess.Popen(
            [*COMMAND, f"--target={target}", f"--user={user}", "--pace=0", *words],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**kept, "PYTHONPATH": str(ROOT / "clients" / "python"), **variables},
        )
        self.shown = ""
        self.errors = ""
        self._changed = threading.Condition()
        self._readers = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for reader in self._readers:
            reader.start()

    def say(self, *lines: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()

    def shows(self, text: str, seconds: float = 30) -> None:
        """Waits until that is shown."""
        with self._changed:
            assert self._changed.wait_for(lambda: text in self.shown, seconds), f"no {text!r} in {self.shown}"

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self, *lines: str) -> int:
        """Says the lines, waits until it has ended, and gives its exit code."""
        if self._process.stdin is not None:
            self.say(*lines)
            self._process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        code = self._process.wait(60)
        for reader in self._readers:
            reader.join()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while piece := self._process.stdout.read(1):
            with self._changed:
                self.shown += piece
                self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self.errors = self._process.stderr.read()


@contextmanager
def endpoint(answer: Callable[[list[dict[str, str]]], Iterator[str]]) -> Iterator[dict[str, str]]:
    """An OpenAI-compatible endpoint on the loopback; the variables that tell an agent of it."""
    server = scripted_model.endpoint(0, answer, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        yield {"OPENAI_API_KEY": "k", "OPENAI_MODEL": "a-model", "OPENAI_BASE_URL": url}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
