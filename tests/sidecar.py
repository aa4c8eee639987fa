"""The real process, for tests, benchmarks and evaluations: started, killed and stopped as a person would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import grpc

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0
# At once, where gRPC would wait a second and more before it tries again.
RECONNECTING = [(f"grpc.{name}_reconnect_backoff_ms", 50) for name in ("initial", "min", "max")]


class Sidecar:
    """`memsidecar serve` on a data directory. Its log is in `<data_dir>.log`, beside the directory."""

    def __init__(self, data_dir: Path, settings: Mapping[str, str] | None = None, module: str = "memsidecar") -> None:
        """`module` is what `python -m` runs: memsidecar, or a module that adds something and runs it."""
        self.data_dir = data_dir
        # A socket's path is short, a temporary directory's may not be.
        self._socket_dir = tempfile.TemporaryDirectory(prefix="ms-")
        self.socket = Path(self._socket_dir.name) / "s"
        self.log_path = data_dir.with_name(data_dir.name + ".log")
        self._settings = {
            "listen.socket": str(self.socket),
            "health.port": "0",
            "metrics.port": "0",
            **(settings or {}),
        }
        self.program = [sys.executable, "-m", module]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def target(self) -> str:
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, wait: bool = True) -> None:
        """Start the process; with `wait`, return when it answers. Raises RuntimeError with its log when it dies."""
        flags = [part for key, value in self._settings.items() for part in (f"--{key.replace('_', '-')}", value)]
        command = [*self.program, "serve", "--data-dir", str(self.data_dir), *flags]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMSIDECAR_")}
        environment["PYTHONPATH"] = os.pathsep.join((str(ROOT), environment.get("PYTHONPATH", "")))
        log: IO[bytes]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self, seconds: float = START_SECONDS) -> None:
        assert self._process is not None
        until = time.monotonic() + seconds
        # One channel for all of the waiting: closing one while gRPC's thread looks at it fails that thread.
        with grpc.insecure_channel(self.target, options=RECONNECTING) as channel:
            ready = grpc.channel_ready_future(channel)
            while time.monotonic() < until:
                try:
                    ready.result(timeout=0.1)
                    return
                except grpc.FutureTimeoutError:
                    if self._process.poll() is None:
                        continue
                ready.cancel()
                raise RuntimeError(f"memsidecar exited with {self._process.returncode}:\n{self.log()[-3000:]}")
            ready.cancel()
        raise RuntimeError(f"memsidecar did not start within {seconds} s:\n{self.log()[-3000:]}")

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def terminate(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = 30.0) -> int:
        assert self._process is not None
        return self._process.wait(seconds)

    def stop(self) -> int:
        """SIGTERM, then its exit code."""
        self.terminate()
        return self.wait()

    def close(self) -> None:
        """Make sure that nothing is left running."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._socket_dir.cleanup()

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def __enter__(self) -> Sidecar:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
