"""What every rendering of the manifests has, whether Kustomize or Helm made it."""

from __future__ import annotations

import copy
import re
import subprocess
from collections import Counter
from pathlib import Path

import yaml

from memsidecar import __version__
from memsidecar.command.settings import load, variable_of
from memsidecar.config import Config, settings
from tests.deploy.rendering import DEPLOY, Object, containers, kustomized, pod_specs, run, sidecar, workload

# As many as have native sidecars by default and a schema.
KUBERNETES = [f"1.{minor}" for minor in range(30, 38)]
# Measured in the image with the default embedder; deploy/README.md has the table.
IDLE_MEBIBYTES = 330


def test_every_object_is_valid_and_has_no_unknown_field(objects: list[Object], tmp_path: Path) -> None:
    done = _validate(objects, tmp_path / "objects.yaml")
    assert done.returncode == 0, done.stdout
    # A warning is what it has for an object whose schema it does not know.
    passed = [re.fullmatch(r"INFO .* passed for .* against version (\S+)", line) for line in done.stdout.splitlines()]
    assert Counter(match and match[1] for match in passed) == dict.fromkeys(KUBERNETES, len(objects))


def test_what_validates_would_notice_a_misspelt_field(tmp_path: Path) -> None:
    wrong = copy.deepcopy(kustomized("examples/statefulset"))
    sidecar(workload(wrong)["spec"]["template"]["spec"])["restartpolicy"] = "Always"
    done = _validate(wrong, tmp_path / "objects.yaml")
    assert done.returncode == 1
    assert "restartpolicy" in done.stdout


def _validate(objects: list[Object], path: Path) -> subprocess.CompletedProcess[str]:
    path.write_text(yaml.safe_dump_all(objects))
    versions = [word for version in KUBERNETES for word in ("--kubernetes-version", version)]
    return run("python", "-m", "kubernetes_validate", "--strict", *versions, path)


def test_the_sidecar_starts_before_the_agent_and_ends_after_it(objects: list[Object]) -> None:
    spec = workload(objects)["spec"]["template"]["spec"]
    container = sidecar(spec)
    assert container["restartPolicy"] == "Always"
    assert container["startupProbe"]["grpc"]["service"] == "startup"
    assert "lifecycle" not in container  # a hook that ends it has it restarted while the pod ends
    assert spec["terminationGracePeriodSeconds"] > Config().drain_grace + 2


def test_each_probe_asks_the_health_port_for_its_own_service(objects: list[Object]) -> None:
    container = sidecar(workload(objects)["spec"]["template"]["spec"])
    for probe in ("startup", "readiness", "liveness"):
        assert container[f"{probe}Probe"]["grpc"] == {"port": Config().health.port, "service": probe}


def test_the_ports_are_those_of_health_and_metrics(objects: list[Object]) -> None:
    ports = {port["name"]: port["containerPort"] for port in sidecar(_pod(objects))["ports"]}
    assert ports == {"memsidecar-hc": Config().health.port, "memsidecar-prom": Config().metrics.port}
    assert all(len(name) <= 15 for name in ports)  # Kubernetes takes no longer one


def test_agent_and_sidecar_share_the_socket_in_memory_and_nothing_else(objects: list[Object]) -> None:
    spec = workload(objects)["spec"]["template"]["spec"]
    mounts = {c["name"]: {m["name"]: m["mountPath"] for m in c["volumeMounts"]} for c in containers(spec)}
    assert set(mounts["agent"]) & set(mounts["memsidecar"]) == {"memsidecar-socket"}
    assert mounts["agent"]["memsidecar-socket"] == mounts["memsidecar"]["memsidecar-socket"] == "/run/memsidecar"
    (socket,) = [volume for volume in spec["volumes"] if volume["name"] == "memsidecar-socket"]
    assert socket["emptyDir"]["medium"] == "Memory"
    assert socket["emptyDir"]["sizeLimit"]
    (agent,) = spec["containers"]
    assert {"name": "MEMSIDECAR_TARGET", "value": "unix:/run/memsidecar/memsidecar.sock"} in agent["env"]


def test_every_mount_has_a_volume_and_every_volume_a_mount(objects: list[Object]) -> None:
    for each in objects:
        spec = each.get("spec", {}).get("template", {}).get("spec")
        if spec:
            claims = [claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", [])]
            volumes = [volume["name"] for volume in spec["volumes"]] + claims
            mounted = {mount["name"] for container in containers(spec) for mount in container["volumeMounts"]}
            assert len(volumes) == len(set(volumes))
            assert set(volumes) == mounted


def test_the_sidecar_writes_where_the_image_says_and_nowhere_else(objects: list[Object]) -> None:
    container = sidecar(workload(objects)["spec"]["template"]["spec"])
    dockerfile = (DEPLOY / "docker" / "Dockerfile").read_text()
    variables = dict(re.findall(r"(MEMSIDECAR_\w+)=(\S+)", dockerfile))
    writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    socket = str(Path(variables["MEMSIDECAR_LISTEN_SOCKET"]).parent)
    assert writable == {variables["MEMSIDECAR_DATA_DIR"], socket, "/tmp"}


def test_every_container_is_confined(objects: list[Object]) -> None:
    for spec in pod_specs(objects):
        assert spec["automountServiceAccountToken"] is False
        for container in containers(spec):
            context = container["securityContext"]
            assert context["runAsNonRoot"] is True
            assert context["runAsUser"] > 0
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]


def test_the_memory_limit_is_above_all_that_the_settings_allow(objects: list[Object]) -> None:
    config = Config()
    ceilings = (
        config.resident.max_mb + config.graph.buffer_pool_mb + config.embedding.cache_mb + config.redis.maxmemory_mb
    )
    resources = sidecar(workload(objects)["spec"]["template"]["spec"])["resources"]
    request, limit = (int(resources[which]["memory"].removesuffix("Mi")) for which in ("requests", "limits"))
    assert IDLE_MEBIBYTES < request < IDLE_MEBIBYTES + ceilings < limit


def test_the_volumes_belong_to_the_group_of_both(objects: list[Object]) -> None:
    context = workload(objects)["spec"]["template"]["spec"]["securityContext"]
    assert context["fsGroup"] > 0
    assert context["fsGroupChangePolicy"] == "OnRootMismatch"


def test_one_pod_at_a_time_has_the_data(kept: list[Object]) -> None:
    spec = workload(kept)["spec"]
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}


def test_every_image_has_a_version(objects: list[Object]) -> None:
    images = {container["name"]: container["image"] for spec in pod_specs(objects) for container in containers(spec)}
    for image in images.values():
        tag = image.rpartition("/")[2].partition(":")[2]
        assert tag not in ("", "latest"), image
    assert images["memsidecar"].endswith(f"/memsidecar:{__version__}")


def test_every_variable_of_the_sidecar_is_a_setting_with_a_value_that_it_takes(objects: list[Object]) -> None:
    container = sidecar(workload(objects)["spec"]["template"]["spec"])
    variables = {entry["name"]: entry["value"] for entry in container["env"]}
    for each in objects:
        if each["kind"] == "ConfigMap":
            variables |= each["data"]
    known = {variable_of(setting) for setting in settings().values()}
    files = {name for name in variables if name.endswith("_FILE")}
    assert set(variables) <= known
    assert all(variables[name].startswith("/etc/memsidecar/secrets/") for name in files)
    load({}, {name: value for name, value in variables.items() if name not in files})


def test_no_secret_is_in_a_manifest(objects: list[Object]) -> None:
    secret = {variable_of(setting) for setting in settings().values() if setting.secret}
    text = yaml.safe_dump_all(objects)
    assert not [name for name in secret if re.search(rf"\b{name}\b", text)]
    assert not [each for each in objects if each["kind"] == "Secret"]


def test_nothing_reaches_the_sidecar_over_the_network_but_prometheus_its_metrics(kept: list[Object]) -> None:
    (policy,) = [each for each in kept if each["kind"] == "NetworkPolicy"]
    assert policy["spec"]["podSelector"]["matchLabels"]["memsidecar.dev/sidecar"] == "true"
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    rules = {port["port"]: rule.get("from") for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    (agent,) = workload(kept)["spec"]["template"]["spec"]["containers"]
    monitoring = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    assert rules == {port["containerPort"]: None for port in agent["ports"]} | {Config().metrics.port: monitoring}


def _pod(objects: list[Object]) -> Object:
    spec: Object = workload(objects)["spec"]["template"]["spec"]
    return spec
