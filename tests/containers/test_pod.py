"""The pod of the StatefulSet example, run: an agent and its memory in two containers, and what happens to them."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.containers.plain_pod import group_folder, plain_pod
from tests.containers.podman import IMAGE, PYTHON, ROOT, SCRIPT, Container, containers, podman, until
from tests.deploy.rendering import kustomized, workload

NAME = "memsidecar-pod-test"


class Pod:
    """The rendered pod. Its volumes outlive it, as a claim does."""

    def __init__(self, disk: Path, memory: Path) -> None:
        self._manifest = disk / "pod.yaml"
        stateful_set = workload(kustomized("examples/statefulset"))
        self.spec = stateful_set["spec"]["template"]["spec"]
        group = self.spec["securityContext"]["fsGroup"]
        data = group_folder(disk / "data", group)
        (data / "lost+found").mkdir(mode=0o700)  # as on a new disk
        folders = {
            "memsidecar-data": data,
            "memsidecar-tmp": group_folder(disk / "tmp", group),
            "memsidecar-socket": group_folder(memory / "socket", group),
            "agent": Path(__file__).parent / "agent",
            "client": ROOT / "clients" / "python",
        }
        self._manifest.write_text(yaml.safe_dump(plain_pod(NAME, stateful_set, IMAGE, folders)))
        self.memory = Container(f"{NAME}-memsidecar")
        self.agent = Container(f"{NAME}-agent")

    def create(self) -> None:
        containers("play", self._manifest)
        self.memory.wait_until_serving()

    def delete(self) -> float:
        """As Kubernetes does: SIGTERM to all, and SIGKILL when the grace is over. The seconds that it took."""
        began = time.monotonic()
        podman("pod", "stop", f"--time={self.spec['terminationGracePeriodSeconds']}", NAME)
        took = time.monotonic() - began
        codes = {container.state["ExitCode"] for container in (self.memory, self.agent)}
        podman("pod", "rm", NAME)
        assert codes == {0}
        return took

    def ask(self, *words: str) -> list[str]:
        return self.agent.run(PYTHON, "/agent/agent.py", *words).stdout.splitlines()


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    podman("pod", "rm", "--force", "--time=0", NAME, check=False)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="ms-") as memory:
        created = Pod(tmp_path, Path(memory))
        try:
            created.create()
            yield created
        finally:
            podman("pod", "rm", "--force", "--time=0", NAME, check=False)


def test_the_agent_remembers_and_recalls_over_the_socket(pod: Pod) -> None:
    until(lambda: "ready" in pod.agent.log(), pod.agent.log)
    assert len(pod.ask("remember", "Ann lives in Lisbon.")) >= 1
    assert any("Lisbon" in line for line in pod.ask("recall", "Where does Ann live?"))


def test_a_killed_sidecar_comes_back_with_everything(pod: Pod) -> None:
    pod.ask("remember", "Ann lives in Lisbon.")
    before, killed = pod.ask("recall", "Where does Ann live?"), pod.memory.state["Pid"]
    os.kill(killed, signal.SIGKILL)  # as the kernel does when memory is short
    until(lambda: pod.memory.state["Pid"] not in (0, killed), pod.memory.log)
    # The agent's client waits for the new one, and nobody has restarted the agent.
    assert pod.ask("recall", "Where does Ann live?") == before
    assert before


def test_a_new_pod_on_the_same_volume_remembers(pod: Pod) -> None:
    pod.ask("remember", "Ann lives in Lisbon.")
    before = pod.ask("recall", "Where does Ann live?")
    pod.delete()
    pod.create()
    assert pod.ask("recall", "Where does Ann live?") == before
    assert before


def test_a_pod_without_calls_ends_at_once(pod: Pod) -> None:
    until(lambda: "ready" in pod.agent.log(), pod.agent.log)
    assert pod.delete() < 10


def test_a_call_in_progress_is_finished_when_the_sidecar_is_told_to_end(pod: Pod) -> None:
    command = [str(SCRIPT), "podman", "exec", "--interactive", pod.agent.name, PYTHON, "/agent/agent.py", "dictate"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as dictating:
        assert dictating.stdin is not None
        assert dictating.stdout is not None
        dictating.stdin.write("said before the signal\n")
        dictating.stdin.flush()
        assert dictating.stdout.readline() == "sent\n"
        # podman restarts no container that podman has sent a signal, so this is sent by the kernel alone.
        before = pod.memory.state["Pid"]
        os.kill(before, signal.SIGTERM)
        until(lambda: pod.memory.run("memsidecar", "probe", check=False).stdout == "NOT_SERVING\n", pod.memory.log)
        out, _ = dictating.communicate("said after the signal\n", timeout=20)
    assert out.splitlines() == ["sent", "2"]
    until(lambda: pod.memory.state["Pid"] not in (0, before), pod.memory.log)
    pod.memory.wait_until_serving()
    assert any("after the signal" in line for line in pod.ask("recall", "What was said after the signal?"))
