"""The pod of the StatefulSet example, run: two agents and their memory in three containers, and what happens to them.

The agents are the examples of the clients, one in Python and one in Go, with their scripted model.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.containers.plain_pod import group_folder, plain_pod
from tests.containers.podman import GO_AGENT_IMAGE, PYTHON, ROOT, SCRIPT, Container, containers, podman, until
from tests.deploy.rendering import kustomized, workload

NAME = "memsidecar-pod-test"
AGENTS = {"python": (f"{NAME}-agent", (PYTHON, "/examples/agent.py")), "go": (f"{NAME}-agent-go", ("/agent",))}


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
            "examples": ROOT / "clients" / "python" / "examples",
            "client": ROOT / "clients" / "python",
        }
        self._manifest.write_text(yaml.safe_dump(plain_pod(NAME, stateful_set, folders)))
        self.memory = Container(f"{NAME}-memsidecar")

    def create(self) -> None:
        containers("play", self._manifest)
        self.memory.wait_until_serving()

    def delete(self) -> float:
        """As Kubernetes does: SIGTERM to all, and SIGKILL when the grace is over. The seconds that it took."""
        began = time.monotonic()
        podman("pod", "stop", f"--time={self.spec['terminationGracePeriodSeconds']}", NAME)
        took = time.monotonic() - began
        ended = [self.memory, *(Container(name) for name, _ in AGENTS.values())]
        codes = {container.name: container.state["ExitCode"] for container in ended}
        podman("pod", "rm", NAME)
        assert set(codes.values()) == {0}, codes
        return took

    def say(self, agent: str, line: str) -> str:
        """A conversation of one line with that agent, and what it shows."""
        with self.talking(agent, 0) as talk:
            shown, _ = talk.communicate(f"{line}\n", timeout=60)
        assert talk.returncode == 0, shown
        return shown

    @contextmanager
    def talking(self, agent: str, pace: float) -> Iterator[subprocess.Popen[str]]:
        """That agent, once more, in its container; the model takes `pace` seconds a word."""
        container, program = AGENTS[agent]
        words = ["exec", "--interactive", container, *program, "--user=ann", "--wait=60", f"--pace={pace}"]
        pipe = subprocess.PIPE
        with subprocess.Popen([SCRIPT, "podman", *words], stdin=pipe, stdout=pipe, text=True) as talk:
            yield talk


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    built = podman("image", "exists", GO_AGENT_IMAGE, check=False).returncode == 0
    assert built, f"there is no image {GO_AGENT_IMAGE}: make agent-image"
    podman("pod", "rm", "--force", "--time=0", NAME, check=False)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="ms-") as memory:
        created = Pod(tmp_path, Path(memory))
        try:
            created.create()
            yield created
        finally:
            podman("pod", "rm", "--force", "--time=0", NAME, check=False)


def test_what_one_agent_is_told_the_other_recalls_over_the_shared_socket(pod: Pod) -> None:
    pod.say("go", "My sister lives in Porto.")
    pod.say("python", "I collect old maps of Lisbon.")
    assert "You told me: My sister lives in Porto" in pod.say("python", "Where does my sister live?")
    assert "You told me: I collect old maps of Lisbon" in pod.say("go", "What do I collect?")


def test_a_killed_sidecar_comes_back_with_everything(pod: Pod) -> None:
    pod.say("go", "My sister lives in Porto.")
    pod.say("python", "I collect old maps of Lisbon.")
    killed = pod.memory.state["Pid"]
    os.kill(killed, signal.SIGKILL)  # as the kernel does when memory is short
    # The agents wait for the new one, and nobody has restarted them.
    assert "You told me: My sister lives in Porto" in pod.say("python", "Where does my sister live?")
    assert "You told me: I collect old maps of Lisbon" in pod.say("go", "What do I collect?")
    assert pod.memory.state["Pid"] not in (0, killed)


def test_a_new_pod_on_the_same_volume_remembers(pod: Pod) -> None:
    pod.say("go", "My sister lives in Porto.")
    pod.say("python", "I collect old maps of Lisbon.")
    pod.delete()
    pod.create()
    assert "You told me: My sister lives in Porto" in pod.say("python", "Where does my sister live?")
    assert "You told me: I collect old maps of Lisbon" in pod.say("go", "What do I collect?")


def test_a_pod_without_calls_ends_at_once(pod: Pod) -> None:
    pod.say("go", "Hello.")
    pod.say("python", "Hello.")
    assert pod.delete() < 10


@pytest.mark.parametrize(("teller", "other"), [("go", "python"), ("python", "go")])
def test_an_answer_in_progress_is_finished_when_the_sidecar_is_told_to_end(pod: Pod, teller: str, other: str) -> None:
    with pod.talking(teller, 0.25) as talk:
        assert talk.stdin is not None
        assert talk.stdout is not None
        talk.stdin.write("Tonight my sister arrives from Porto.\n")
        talk.stdin.flush()
        shown = ""
        while "Let us" not in shown:
            shown += talk.stdout.read(1)
        # podman restarts no container that podman has sent a signal, so this is sent by the kernel alone.
        before = pod.memory.state["Pid"]
        os.kill(before, signal.SIGTERM)
        until(lambda: pod.memory.run("memsidecar", "probe", check=False).stdout == "NOT_SERVING\n", pod.memory.log)
        rest, _ = talk.communicate(timeout=30)
    assert talk.returncode == 0, shown + rest
    assert "最后带豆包去散步吧。" in rest
    until(lambda: pod.memory.state["Pid"] not in (0, before), pod.memory.log)
    assert "You told me: Tonight my sister arrives from Porto" in pod.say(other, "Where does my sister come from?")
