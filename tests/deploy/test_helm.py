"""The chart makes the same objects as Kustomize, refuses what cannot work, and lends its templates to other charts."""

from __future__ import annotations

import copy
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from memsidecar import __version__
from tests.deploy.conftest import DEPLOYMENT
from tests.deploy.rendering import CHART, Object, kustomized, run, sidecar, templated, workload

# What Helm knows a release by; and what Kustomize selects workloads by, and names a ConfigMap with.
HELM_ONLY = ("app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart", "checksum/config")
KUSTOMIZE_ONLY = ("memsidecar.dev/inject",)

PARENT = """\
apiVersion: v2
name: parent
version: 1.2.3
"""
PARENT_POD = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: agent}
spec:
  serviceName: agent
  selector: {matchLabels: {app: mine}}
  volumeClaimTemplates:
    {{- include "memsidecar.volumeClaimTemplate" .Subcharts.memsidecar | nindent 4 }}
  template:
    metadata:
      labels:
        app: mine
        {{- include "memsidecar.podLabels" .Subcharts.memsidecar | nindent 8 }}
    spec:
      securityContext:
        {{- include "memsidecar.podSecurityContext" .Subcharts.memsidecar | nindent 8 }}
      initContainers:
        {{- include "memsidecar.initContainer" .Subcharts.memsidecar | nindent 8 }}
      containers:
        - name: mine
          image: example.com/mine:1
          env:
            {{- include "memsidecar.agentEnv" .Subcharts.memsidecar | nindent 12 }}
          volumeMounts:
            {{- include "memsidecar.agentVolumeMount" .Subcharts.memsidecar | nindent 12 }}
      volumes:
        {{- include "memsidecar.volumes" .Subcharts.memsidecar | nindent 8 }}
"""


def normal(objects: list[Object]) -> dict[tuple[str, str], Object]:
    """By kind and name, without what the two must differ in."""
    found = {}
    for each in objects:
        plain = _plain(copy.deepcopy(each))
        found[plain["kind"], plain["metadata"]["name"]] = plain
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        # memsidecar-5f6cb2mdk7 is Kustomize's, agent-memsidecar Helm's.
        return re.sub(r"^(agent-)?memsidecar(-[a-z0-9]{10})?$", "memsidecar", value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {k: _plain(v) for k, v in value.items() if k not in (*HELM_ONLY, *KUSTOMIZE_ONLY)}
    if "volumes" in kept:  # whose order means nothing
        kept["volumes"].sort(key=lambda volume: volume["name"])
    return {k: v for k, v in kept.items() if v or k not in ("labels", "annotations")}


def test_a_statefulset_is_the_same_as_kustomizes() -> None:
    assert normal(templated()) == normal(_labelled(kustomized("examples/statefulset")))


def test_a_deployment_is_the_same_as_kustomizes() -> None:
    by_kustomize = [each for each in kustomized("examples/deployment") if each["metadata"]["name"] != "redis"]
    assert normal(templated(*DEPLOYMENT)) == normal(_labelled(by_kustomize))


def _labelled(objects: list[Object]) -> list[Object]:
    """With the agent's name on each object, which the chart puts on all of its own."""
    marked = copy.deepcopy(objects)
    for each in marked:
        each["metadata"].setdefault("labels", {})["app.kubernetes.io/name"] = "agent"
    return marked


@pytest.mark.parametrize("values", [(), DEPLOYMENT, ("agent.enabled=false",)])
def test_the_chart_has_nothing_for_the_linter(values: tuple[str, ...]) -> None:
    done = run("helm", "lint", "--strict", CHART, *[word for value in values for word in ("--set", value)])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARN" not in done.stdout


def test_the_chart_has_the_version_of_what_it_runs() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("agent.kind=daemonset", "kind"),
        ("agent.kind=deployment", "cannot keep its memory"),
        ("image.tag=latest", "tag"),
        ("persistence.size=much", "size"),
        ("persistance.enabled=false", "persistance"),
        ("config.MEMSIDECAR_TOKEN=hunter2", "MEMSIDECAR_TOKEN"),
        ("config.embedding=use", "embedding"),
        ("config.MEMSIDECAR_DATA_DIR=/elsewhere", "MEMSIDECAR_DATA_DIR"),
        ("redis.url=redis://:hunter2@redis:6379/0", "url"),
        ("metrics.port=50552", "port"),
        ("config.MEMSIDECAR_METRICS_PORT=1", "MEMSIDECAR_METRICS_PORT"),
    ],
)
def test_a_value_that_cannot_work_is_refused(value: str, complaint: str) -> None:
    done = run("helm", "template", "agent", CHART, "--set", value)
    assert done.returncode != 0
    assert complaint in done.stderr


def test_settings_reach_the_sidecar_and_change_the_pods() -> None:
    before, after = (
        templated(),
        templated("config.MEMSIDECAR_EMBEDDING_PROVIDER=e5", "config.MEMSIDECAR_RESIDENT_MAX_MB=256"),
    )
    (settings,) = [each for each in after if each["kind"] == "ConfigMap"]
    assert settings["data"] == {"MEMSIDECAR_EMBEDDING_PROVIDER": "e5", "MEMSIDECAR_RESIDENT_MAX_MB": "256"}
    container = sidecar(workload(after)["spec"]["template"]["spec"])
    assert container["envFrom"][0]["configMapRef"]["name"] == settings["metadata"]["name"]
    sums = [
        workload(each)["spec"]["template"]["metadata"]["annotations"]["checksum/config"] for each in (before, after)
    ]
    assert sums[0] != sums[1]


def test_two_releases_in_one_namespace_do_not_share_a_name() -> None:
    names = [
        {
            (each["kind"], each["metadata"]["name"])
            for each in templated("config.MEMSIDECAR_LOG_LEVEL=debug", f"agent.name={name}", release=name)
        }
        for name in ("one", "two")
    ]
    assert not names[0] & names[1]


def test_a_single_replica_has_no_disruption_budget() -> None:
    assert "PodDisruptionBudget" in {each["kind"] for each in templated()}
    assert "PodDisruptionBudget" not in {each["kind"] for each in templated("agent.replicas=1")}


def test_a_digest_goes_before_a_tag() -> None:
    digest = "sha256:" + "0" * 64
    rendered = templated(f"image.digest={digest}", "image.tag=v9")
    assert sidecar(workload(rendered)["spec"]["template"]["spec"])["image"].endswith(f"/memsidecar@{digest}")


def test_extra_variables_come_after_those_of_the_chart() -> None:
    rendered = templated('extraEnv=[{"name": "MEMSIDECAR_LOG_LEVEL", "value": "debug"}]')
    names = [entry["name"] for entry in sidecar(workload(rendered)["spec"]["template"]["spec"])["env"]]
    assert names == ["MEMSIDECAR_LOG_FORMAT", "MEMSIDECAR_LOG_LEVEL"]


def test_a_statefulset_may_forget_with_its_pods() -> None:
    spec = workload(templated("persistence.enabled=false"))["spec"]
    assert "volumeClaimTemplates" not in spec
    assert {"name": "memsidecar-data", "emptyDir": {"sizeLimit": "2Gi"}} in spec["template"]["spec"]["volumes"]


def test_an_agent_without_a_port_lets_nothing_in() -> None:
    rendered = templated("agent.port=0", "metrics.enabled=false")
    (policy,) = [each for each in rendered if each["kind"] == "NetworkPolicy"]
    assert policy["spec"]["ingress"] == []


def test_metrics_may_be_off_or_elsewhere() -> None:
    off, moved = templated("metrics.enabled=false"), templated("metrics.port=9100")
    assert _settings(off) == {"MEMSIDECAR_METRICS_PORT": "0"}
    assert _settings(moved) == {"MEMSIDECAR_METRICS_PORT": "9100"}
    ports = [sidecar(workload(each)["spec"]["template"]["spec"])["ports"] for each in (off, moved)]
    assert [[port["containerPort"] for port in each] for each in ports] == [[50552], [50552, 9100]]
    policies = [next(each for each in objects if each["kind"] == "NetworkPolicy") for objects in (off, moved)]
    opened = [[rule["ports"][0]["port"] for rule in policy["spec"]["ingress"]] for policy in policies]
    assert opened == [[8080], [8080, 9100]]


def test_a_pod_monitor_finds_the_port_of_the_pods_when_it_is_asked_for() -> None:
    assert "PodMonitor" not in {each["kind"] for each in templated()}
    rendered = templated("metrics.podMonitor.enabled=true", "metrics.podMonitor.labels.release=prometheus")
    (monitor,) = [each for each in rendered if each["kind"] == "PodMonitor"]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    pod = workload(rendered)["spec"]["template"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in {port["name"] for port in sidecar(pod["spec"])["ports"]}


def _settings(objects: list[Object]) -> Any:
    return next(each["data"] for each in objects if each["kind"] == "ConfigMap")


def test_another_chart_includes_the_sidecar(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    (parent / "templates").mkdir(parents=True)
    (parent / "Chart.yaml").write_text(PARENT + "dependencies: [{name: memsidecar, version: '*'}]\n")
    (parent / "values.yaml").write_text("memsidecar: {agent: {enabled: false}}\n")
    (parent / "templates" / "agent.yaml").write_text(PARENT_POD)
    shutil.copytree(CHART, parent / "charts" / "memsidecar")
    rendered = templated("memsidecar.config.MEMSIDECAR_LOG_LEVEL=debug", chart=parent)
    assert sorted(each["kind"] for each in rendered) == ["ConfigMap", "StatefulSet"]
    spec, own = workload(rendered)["spec"], workload(templated())["spec"]
    assert sidecar(spec["template"]["spec"]) == sidecar(own["template"]["spec"])
    assert spec["template"]["spec"]["volumes"] == own["template"]["spec"]["volumes"]
    assert spec["volumeClaimTemplates"] == own["volumeClaimTemplates"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((), ["claim memsidecar-data-agent-N", "unix:/run/memsidecar/memsidecar.sock", "set redis.url"]),
        (DEPLOYMENT, ["lives and dies with the pod", "deployment/agent -c memsidecar"]),
        (("agent.enabled=false",), ['include "memsidecar.initContainer" .Subcharts.memsidecar']),
    ],
)
def test_the_notes_say_what_was_made(values: tuple[str, ...], told: list[str]) -> None:
    settings = [word for value in values for word in ("--set", value)]
    done = run("helm", "install", "agent", CHART, "--namespace=agents", "--dry-run=client", *settings)
    assert done.returncode == 0, done.stderr
    notes = done.stdout.partition("NOTES:")[2]
    assert [words for words in told if words not in notes] == []
