"""A StatefulSet's pod as podman can play it.

podman (4.3, Debian's) knows neither native sidecars nor fsGroup, grpc probes or volume claim templates. So the sidecar
becomes a plain container, its volumes become folders made as the kubelet makes them for an fsGroup, both containers run
in that group, and what podman does not know is left out. What is left of each container (arguments, environment,
security context, mounts, limits) is what was rendered.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from pathlib import Path

from tests.containers.podman import PYTHON
from tests.deploy.rendering import Object, sidecar

UNKNOWN = ("restartPolicy", "startupProbe", "readinessProbe", "livenessProbe", "envFrom", "ports")
SECRETS = "memsidecar-secrets"


def group_folder(path: Path, group: int) -> Path:
    """What a new volume is to a pod with that fsGroup."""
    path.mkdir()
    os.chown(path, -1, group)
    path.chmod(0o2770)
    return path


def plain_pod(name: str, stateful_set: Object, image: str, folders: Mapping[str, Path]) -> Object:
    """The pod called `name`. `folders` are what its volumes are, by their names, and `agent` with the program that is
    the agent, and `client` with the Python client.
    """
    template = copy.deepcopy(stateful_set["spec"]["template"])
    spec = template["spec"]
    group = spec["securityContext"]["fsGroup"]
    first, (own,) = sidecar(spec), spec["containers"]
    own |= {
        "image": image,
        "command": [PYTHON, "/agent/agent.py", "run"],
        "env": [*own["env"], {"name": "PYTHONPATH", "value": "/client"}],
    }
    own["volumeMounts"] += [
        {"name": "agent", "mountPath": "/agent", "readOnly": True},
        {"name": "client", "mountPath": "/client", "readOnly": True},
    ]
    first["image"] = image
    for container in (first, own):
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
            "containers": [first, own],
            "volumes": volumes,
        },
    }
