"""A StatefulSet's pod as podman can play it, with two agents for the one that was rendered: in Python and in Go.

podman (4.3, Debian's) knows neither native sidecars nor fsGroup, grpc probes or volume claim templates. So the sidecar
becomes a plain container, its volumes become folders made as the kubelet makes them for an fsGroup, all containers run
in that group, and what podman does not know is left out. What is left of each container (arguments, environment,
security context, mounts, limits) is what was rendered.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from pathlib import Path

from tests.containers.podman import GO_AGENT_IMAGE, IMAGE, PYTHON
from tests.deploy.rendering import Object, sidecar

UNKNOWN = ("restartPolicy", "startupProbe", "readinessProbe", "livenessProbe", "envFrom", "ports")
SECRETS = "memsidecar-secrets"


def group_folder(path: Path, group: int) -> Path:
    """What a new volume is to a pod with that fsGroup."""
    path.mkdir()
    os.chown(path, -1, group)
    path.chmod(0o2770)
    return path


def plain_pod(name: str, stateful_set: Object, folders: Mapping[str, Path]) -> Object:
    """The pod called `name`. `folders` are what its volumes are, by their names, and `examples` with the Python agent,
    and `client` with the Python client.
    """
    template = copy.deepcopy(stateful_set["spec"]["template"])
    spec = template["spec"]
    group = spec["securityContext"]["fsGroup"]
    first, (in_python,) = sidecar(spec), spec["containers"]
    # They wait for a line of whoever attaches, as with kubectl attach -it.
    in_python |= {"args": ["--user=ann", "--wait=60"], "stdin": True, "tty": True}
    in_go = copy.deepcopy(in_python) | {"name": "agent-go", "image": GO_AGENT_IMAGE, "command": ["/agent"]}
    in_python |= {
        "image": IMAGE,
        "command": [PYTHON, "/examples/agent.py"],
        "env": [*in_python["env"], {"name": "PYTHONPATH", "value": "/client"}],
    }
    in_python["volumeMounts"] += [
        {"name": "examples", "mountPath": "/examples", "readOnly": True},
        {"name": "client", "mountPath": "/client", "readOnly": True},
    ]
    first["image"] = IMAGE
    containers = [first, in_python, in_go]
    for container in containers:
        for field in UNKNOWN:
            container.pop(field, None)
        container["imagePullPolicy"] = "Never"
        container["securityContext"]["runAsGroup"] = group
        container["volumeMounts"] = [each for each in container["volumeMounts"] if each["name"] != SECRETS]
    volumes = [{"name": each, "hostPath": {"path": str(folder)}} for each, folder in folders.items()]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": template["metadata"]["labels"]},
        "spec": {
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": spec["terminationGracePeriodSeconds"],
            "containers": containers,
            "volumes": volumes,
        },
    }
