"""What the manifests become: rendered by the tools of deploy/tools, as objects."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "memsidecar"
TOOLS = ROOT / ".venv-deploy"
EXAMPLES = ("statefulset", "deployment")

Object = dict[str, Any]


@cache
def tool(name: str) -> str:
    """The path of a program of deploy/tools, which are installed on first use (`make setup` does it, too)."""
    subprocess.run([DEPLOY / "tools" / "install.sh", TOOLS], check=True, timeout=600)
    return str(TOOLS / "bin" / name)


def run(name: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """A tool's output, whether it succeeded or not. Helm looks for no cluster and no settings of the developer's."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "KUBECONFIG": "/nonexistent"}
    command = [tool(name), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100)


@cache
def _output(name: str, words: Sequence[str]) -> str:
    done = run(name, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kustomized(folder: str) -> list[Object]:
    """What `kubectl apply -k` would apply of a folder in deploy/kustomize."""
    return _objects(_output("kubectl", ("kustomize", str(DEPLOY / "kustomize" / folder))))


def templated(*values: str, chart: Path = CHART, release: str = "agent") -> list[Object]:
    """What `helm install` would apply, with `--set` of each value."""
    settings = [
        word for value in values for word in ("--set-json" if "={" in value or "=[" in value else "--set", value)
    ]
    return _objects(_output("helm", ("template", release, str(chart), "--namespace=agents", *settings)))


def _objects(text: str) -> list[Object]:
    return [each for each in yaml.safe_load_all(text) if each]


def workload(objects: Sequence[Object]) -> Object:
    """What makes the pods with a sidecar."""
    (found,) = [each for each in objects if _label(each) == "true"]
    return found


def _label(each: Object) -> str | None:
    labels = each["spec"].get("template", {}).get("metadata", {}).get("labels", {}) if "spec" in each else {}
    value = labels.get("memsidecar.dev/sidecar")
    return value if isinstance(value, str) else None


def pod_specs(objects: Sequence[Object]) -> Iterator[Object]:
    for each in objects:
        template = each.get("spec", {}).get("template")
        if template:
            yield template["spec"]


def containers(spec: Object) -> list[Object]:
    return [*spec.get("initContainers", []), *spec["containers"]]


def sidecar(spec: Object) -> Object:
    found: list[Object] = [each for each in spec["initContainers"] if each["name"] == "memsidecar"]
    (only,) = found
    return only
