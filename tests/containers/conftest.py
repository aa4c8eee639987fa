"""Real containers, which take root, podman and the image: `make image-test` and `make pod-test` see to them.

Not part of `make test`: pyproject.toml keeps pytest out of this folder unless it is named.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.containers.podman import CONFINED, IMAGE, Container, podman, start


@pytest.fixture(scope="session", autouse=True)
def _image() -> None:
    built = podman("image", "exists", IMAGE, check=False).returncode == 0
    assert built, f"there is no image {IMAGE}: make image"


@pytest.fixture
def socket_folder() -> Iterator[Path]:
    """A folder for the socket, shared by group 0 as fsGroup would have it, with a path short enough for one."""
    folder = Path(tempfile.mkdtemp(prefix="ms-"))
    folder.chmod(0o770)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def launch(socket_folder: Path) -> Iterator[Callable[..., Container]]:
    """Starts a confined container with its socket in `socket_folder`, and removes it in the end."""
    started: list[Container] = []

    def run(*words: str | Path) -> Container:
        socket = f"{socket_folder}:/run/memsidecar"
        container = start("memsidecar-image-test", *CONFINED, "--tmpfs=/tmp", "-v", socket, *words)
        started.append(container)
        return container

    yield run
    for container in started:
        container.remove()
