"""A volume for backups, and a Job that restores from it into the pod's own volume."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from memsidecar import __version__
from memsidecar.command.arguments import parser
from tests.deploy.rendering import DEPLOY, Object, kustomized, run, sidecar, workload
from tests.deploy.test_manifests import KUBERNETES

BACKUP, DATA = "memsidecar-backup", "memsidecar-data"


@pytest.mark.parametrize("example", ["backup", "restore"])
def test_they_are_valid(example: str, tmp_path: Path) -> None:
    objects = kustomized(f"examples/{example}")
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(objects))
    versions = [word for version in KUBERNETES for word in ("--kubernetes-version", version)]
    done = run("python", "-m", "kubernetes_validate", "--strict", *versions, tmp_path / "objects.yaml")
    assert done.returncode == 0, done.stdout
    passed = re.findall(r"passed for .* against version (\S+)", done.stdout)
    assert Counter(passed) == dict.fromkeys(KUBERNETES, len(objects))


def _claims(stateful_set: Object) -> dict[str, Object]:
    return {claim["metadata"]["name"]: claim["spec"] for claim in stateful_set["spec"]["volumeClaimTemplates"]}


def test_the_volume_for_backups_is_another_one_than_that_of_the_data_and_all_else_stays() -> None:
    plain, backed_up = workload(kustomized("examples/statefulset")), workload(kustomized("examples/backup"))
    assert set(_claims(backed_up)) == {DATA, BACKUP}
    assert _claims(backed_up)[DATA] == _claims(plain)[DATA]
    mounts, before = (sidecar(each["spec"]["template"]["spec"])["volumeMounts"] for each in (backed_up, plain))
    assert [mount for mount in mounts if mount not in before] == [{"name": BACKUP, "mountPath": "/backup"}]
    assert [mount for mount in before if mount not in mounts] == []


def test_the_job_restores_what_the_pod_has_written_as_the_user_that_wrote_it() -> None:
    stateful_set = workload(kustomized("examples/backup"))
    (job,) = kustomized("examples/restore")
    pod, spec = stateful_set["spec"]["template"]["spec"], job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    served = sidecar(pod)
    for what in ("image", "securityContext"):
        assert container[what] == served[what]
    assert container["image"].endswith(f":{__version__}")
    assert spec["securityContext"] == pod["securityContext"]
    assert (spec["restartPolicy"], job["spec"]["backoffLimit"]) == ("Never", 0)
    paths = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert paths[DATA] == next(m["mountPath"] for m in served["volumeMounts"] if m["name"] == DATA)
    claims = {
        v["name"]: v["persistentVolumeClaim"]["claimName"] for v in spec["volumes"] if v["name"] != "memsidecar-tmp"
    }
    name = stateful_set["metadata"]["name"]
    assert claims == {volume: f"{volume}-{name}-0" for volume in (DATA, BACKUP)}
    words = parser().parse_args(container["args"])
    assert (words.command, words.set_aside) == ("restore", True)
    assert words.source.startswith(paths[BACKUP])


def test_the_document_restores_with_the_job_that_there_is() -> None:
    text = (DEPLOY / "README.md").read_text()
    assert "kubectl apply -k deploy/kustomize/examples/restore" in text
    for command in re.findall(r"memsidecar ((?:backup|restore) [^`\n]+)", text):
        words = [
            word.strip('"') for word in re.split(r"\s+", re.sub(r"\$\(.*?\)", "x", command.partition("#")[0])) if word
        ]
        assert parser().parse_args(words).command in ("backup", "restore")
