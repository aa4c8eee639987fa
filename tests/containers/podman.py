"""Containers of the image that `make image` has built."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "tools" / "containers.sh"
IMAGE = os.environ.get("IMAGE", "memsidecar:dev")
GO_AGENT_IMAGE = os.environ.get("GO_AGENT_IMAGE", "memsidecar-go-agent:dev")
PYTHON = "/opt/memsidecar/bin/python3"
# What a pod's securityContext is to podman.
CONFINED = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none")


def containers(*words: str | Path, check: bool = True, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    """deploy/tools/containers.sh with these words."""
    done = subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True, timeout=timeout)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def podman(*words: str | Path, check: bool = True, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    return containers("podman", *words, check=check, timeout=timeout)


def inspected(kind: str, name: str) -> Any:
    """What podman knows of a container or an image."""
    (found,) = json.loads(podman(kind, "inspect", name).stdout)
    return found


@dataclass(frozen=True)
class Container:
    """One that was started; it is removed by whoever started it."""

    name: str

    def run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A program of the image, inside."""
        return podman("exec", self.name, *words, check=check)

    def wait_until_serving(self, seconds: float = 90) -> None:
        until(lambda: self.run("memsidecar", "probe", check=False).returncode == 0, self.log, seconds)

    def log(self) -> str:
        done = podman("logs", self.name, check=False)
        return (done.stdout + done.stderr)[-3000:]

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = inspected("container", self.name)["State"]
        return found

    def remove(self) -> None:
        podman("rm", "--force", "--time=0", "--volumes", self.name, check=False)


def start(name: str, *words: str | Path) -> Container:
    """`podman run` of the image with these options."""
    container = Container(name)
    container.remove()
    podman("run", "--detach", f"--name={name}", *words, IMAGE)
    return container


def files() -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Everything in the image, with the content of the SBOM."""
    podman("rm", "--force", "memsidecar-files", check=False)
    podman("create", "--name=memsidecar-files", IMAGE)
    try:
        with subprocess.Popen([SCRIPT, "podman", "export", "memsidecar-files"], stdout=subprocess.PIPE) as exporting:
            assert exporting.stdout is not None
            with tarfile.open(fileobj=exporting.stdout, mode="r|") as archive:
                for member in archive:
                    content = archive.extractfile(member) if member.name.endswith(".cdx.json") else None
                    yield member, content.read() if content else b""
    finally:
        podman("rm", "--force", "memsidecar-files", check=False)


def until(condition: Callable[[], bool], explain: Callable[[], str], seconds: float = 60) -> None:
    """Waits for what has no event."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {explain()}"
        time.sleep(0.2)
