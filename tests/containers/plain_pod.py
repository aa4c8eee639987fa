"""A StatefulSet's pod as podman can play it.

podman (4.3, Debian's) knows neither native sidecars nor fsGroup, grpc probes or volume claim templates. So the sidecar
becomes a plain container, its data and socket become volumes of podman that belong to the group, both containers run in
that group, and what podman does not know is left out. What is left of each container (arguments, environment, security
context, mounts, limits) is what was rendered.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from tests.containers.podman import PYTHON
from tests.deploy.rendering import Object, sidecar

UNKNOWN = ("restartPolicy", "startupProbe", "readinessProbe", "livenessProbe", "envFrom", "ports")
SECRETS = "memsidecar-secrets"


def plain_pod(stateful_set: Object, image: str, agent: Path, client: Path, name: str) -> Object:
    """The pod called `name`, with the program at `agent` and the Python client at `client` as its agent.

    Its volumes are called `name`-data and `name`-socket, and must exist.
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
    volumes: list[dict[str, Any]] = [
        {"name": f"memsidecar-{part}", "persistentVolumeClaim": {"claimName": f"{name}-{part}"}}
        for part in ("data", "socket", "tmp")
    ]
    volumes += [
        {"name": part, "hostPath": {"path": str(path)}} for part, path in (("agent", agent), ("client", client))
    ]
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
