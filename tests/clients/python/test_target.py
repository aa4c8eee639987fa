"""A client that is told no target finds the sidecar of its machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from memsidecar_client import _target as module
from memsidecar_client import default_target

from memsidecar.config import Config


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of its own, and no pod."""
    monkeypatch.delenv("MEMSIDECAR_TARGET", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(module, "POD_SOCKET", tmp_path / "run" / "memsidecar.sock")
    return tmp_path / "home"


def there(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_without_anything_it_is_where_a_plain_serve_will_listen(home: Path) -> None:
    assert default_target() == f"unix://{Config().socket_path}"
    assert default_target().startswith(f"unix://{home}/")


def test_the_variable_wins_then_the_pods_socket_then_the_users(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, pod = Config().socket_path, tmp_path / "run" / "memsidecar.sock"
    pod.parent.mkdir()
    assert default_target() == f"unix://{pod}"  # the volume is mounted, the sidecar still starts
    there(own)
    assert default_target() == f"unix://{own}"
    there(pod)
    assert default_target() == f"unix://{pod}"
    monkeypatch.setenv("MEMSIDECAR_TARGET", "127.0.0.1:1")
    assert default_target() == "127.0.0.1:1"


def test_without_a_home_directory_it_is_the_pods(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "USER_SOCKET", Path("~nobody-of-that-name/memsidecar.sock"))
    assert default_target() == f"unix://{module.POD_SOCKET}"
