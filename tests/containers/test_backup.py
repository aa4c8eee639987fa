"""Backup and restore as an operator does them: without a shell, as the image's user, on volumes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memsidecar_client import Memsidecar, Message, Role

from tests.containers.podman import CONFINED, IMAGE, PYTHON, Container, podman

Launch = Callable[..., Container]
DATA = "/var/lib/memsidecar"


def _volume(path: Path) -> Path:
    path.mkdir()
    path.chmod(0o770)
    return path


def _ask(socket_folder: Path) -> tuple[list[str], list[str], list[str]]:
    """What is recalled, what is listed, and the session."""
    with Memsidecar(f"unix://{socket_folder}/memsidecar.sock", user="ann") as client:
        recalled = [hit.text for hit in client.recall("Where does Ann live?").hits]
        listed = [memory.name for memory in client.list_memories(page_size=1000)]
        return recalled, listed, [message.text for message in client.session("s").messages()]


def test_a_backup_of_a_running_container_is_restored_to_a_fresh_volume_and_over_the_old_one(
    launch: Launch, socket_folder: Path, tmp_path: Path
) -> None:
    data, backups, fresh = (_volume(tmp_path / name) for name in ("data", "backups", "fresh"))
    container = launch("-v", f"{data}:{DATA}", "-v", f"{backups}:/backup")
    container.wait_until_serving()
    with Memsidecar(f"unix://{socket_folder}/memsidecar.sock", user="ann") as client:
        client.remember("Ann lives in Lisbon.")
        client.session("s").create()
        client.session("s").append([Message(Role.USER, "hello")])
    before = _ask(socket_folder)
    ran = container.run("memsidecar", "backup", "/backup/one")
    assert "sessions are included" in ran.stdout
    with Memsidecar(f"unix://{socket_folder}/memsidecar.sock", user="ann") as client:
        client.remember("Ann lives in Oslo.")
    refused = container.run("memsidecar", "restore", "/backup/one", "--set-aside", check=False)
    assert (refused.returncode, "is in use" in refused.stderr) == (75, True)
    container.remove()
    for volume, words in ((fresh, ()), (data, ("--set-aside",))):
        mounts = ("-v", f"{volume}:{DATA}", "-v", f"{backups}:/backup:ro")
        podman("run", "--rm", *CONFINED, "--tmpfs=/tmp", *mounts, IMAGE, "restore", "/backup/one", *words)
        container = launch("-v", f"{volume}:{DATA}", "-v", f"{backups}:/backup")
        container.wait_until_serving()
        assert _ask(socket_folder) == before
        container.remove()
    assert len(list(data.glob("before-restore-*/ledger.db"))) == 1
    # The interpreter deletes what is not wanted any more, as deploy/README.md says.
    container = launch("-v", f"{backups}:/backup")
    container.run(PYTHON, "-c", "import shutil; shutil.rmtree('/backup/one')")
    assert list(backups.iterdir()) == []
