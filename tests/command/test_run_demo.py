"""The demo's frame: a sidecar of its own, a story beside it, an end for both."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType

import pytest

from memsidecar.command import main, run_demo

# Stands for `memsidecar serve`: writes what it was called with beside its socket, then waits for SIGTERM.
SIDECAR = """
import json, os, signal, sys
flags = dict(word[2:].split("=", 1) for word in sys.argv[1:])
with open(flags["listen.socket"] + ".new", "w") as out:
    json.dump({"flags": flags, "pid": os.getpid()}, out)
os.rename(flags["listen.socket"] + ".new", flags["listen.socket"])
signal.pause()
"""

Story = Callable[[str], Awaitable[bool]]


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Callable[[Story], None]:
    """Puts a story in the place of the demo's own, and SIDECAR in that of the sidecar."""
    monkeypatch.setattr(run_demo, "SERVE", (sys.executable, "-c", SIDECAR))

    def put(story: Story) -> None:
        module = ModuleType("memsidecar.command.demo.play")
        module.play = story  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "memsidecar.command.demo.play", module)

    return put


async def started(target: str) -> dict[str, str]:
    """The flags of the sidecar at `target`, and its pid under "pid"."""
    return await asyncio.to_thread(wait_and_read, Path(target.removeprefix("unix://")))


def wait_and_read(path: Path) -> dict[str, str]:
    while not path.exists():
        time.sleep(0.005)
    found = json.loads(path.read_text())
    return {**found["flags"], "pid": str(found["pid"])}


def is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def test_it_keeps_away_from_the_data_and_the_ports_of_a_running_sidecar(tell: Callable[[Story], None]) -> None:
    seen: dict[str, str] = {}

    async def story(target: str) -> bool:
        seen.update(await started(target))
        return True

    tell(story)
    assert main(["demo", "--listen.tcp-port", "50551", "--embedding.provider", "use+e5"]) == 0
    assert [seen[port] for port in ("health.port", "listen.tcp-port", "metrics.port")] == ["0", "0", "0"]
    assert seen["embedding.provider"] == "use+e5"
    assert seen["data-dir"].startswith(str(Path(seen["listen.socket"]).parent))
    assert not Path(seen["listen.socket"]).parent.exists()
    assert not is_running(seen["pid"])


def test_a_named_data_directory_and_file_are_passed_on(tell: Callable[[Story], None], tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    async def story(target: str) -> bool:
        seen.update(await started(target))
        return True

    tell(story)
    (tmp_path / "c.yaml").write_text("namespace: acme\n")
    assert main(["demo", "--data-dir", str(tmp_path), "--config", str(tmp_path / "c.yaml")]) == 0
    assert (seen["data-dir"], seen["config"]) == (str(tmp_path), str(tmp_path / "c.yaml"))


def test_a_question_that_finds_nothing_is_a_problem(tell: Callable[[Story], None]) -> None:
    async def story(target: str) -> bool:
        await started(target)
        return False

    tell(story)
    assert main(["demo"]) == 1


def test_a_sidecar_that_does_not_start_ends_the_story_with_its_code(
    tell: Callable[[Story], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def waits_for_ever(target: str) -> bool:
        return await asyncio.Event().wait()

    tell(waits_for_ever)
    monkeypatch.setattr(run_demo, "SERVE", (sys.executable, "-c", "import sys; sys.exit(75)"))
    assert main(["demo"]) == 75


def test_a_story_that_fails_still_stops_the_sidecar(tell: Callable[[Story], None]) -> None:
    pids: list[str] = []

    async def fails(target: str) -> bool:
        pids.append((await started(target))["pid"])
        raise LookupError("nothing was recalled")

    tell(fails)
    with pytest.raises(LookupError):
        main(["demo"])
    assert not is_running(pids[0])
