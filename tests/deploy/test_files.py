"""The Dockerfile, the scripts beside it, and the document."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml

from memsidecar import __version__
from memsidecar.command.settings import variable_of
from memsidecar.config import Config, settings
from tests.deploy.rendering import DEPLOY, ROOT, run


def test_the_dockerfile_has_nothing_for_the_linter() -> None:
    done = run("hadolint", "--failure-threshold=style", DEPLOY / "docker" / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


def test_the_dockerfile_knows_the_version_the_port_and_the_settings() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    assert f"ARG VERSION={__version__}" in text
    assert f"EXPOSE {Config().health.port} {Config().metrics.port}\n" in text
    known = {variable_of(setting) for setting in settings().values()}
    assert set(re.findall(r"(MEMSIDECAR_\w+)=", text)) <= known


def test_the_image_is_built_from_no_file_that_is_kept_from_it() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    copied = [word for line in re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE) for word in line.split()]
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert set(copied) == let_through


@pytest.mark.parametrize("script", sorted(DEPLOY.rglob("*.sh")), ids=lambda path: path.name)
def test_every_script_is_executable_and_parses(script: object) -> None:
    assert isinstance(script, type(DEPLOY))
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert "set -euo pipefail" in script.read_text()


def test_every_component_has_the_version_of_the_code() -> None:
    component = yaml.safe_load((DEPLOY / "kustomize/components/sidecar/kustomization.yaml").read_text())
    assert [image["newTag"] for image in component["images"]] == [__version__]


def test_the_document_names_what_there_is() -> None:
    text = (DEPLOY / "README.md").read_text()
    known = {variable_of(setting) for setting in settings().values()} | {"MEMSIDECAR_CONFIG", "MEMSIDECAR_TARGET"}
    assert {name for name in re.findall(r"MEMSIDECAR_[A-Z_]+", text) if not name.endswith("_")} - known == set()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets
    for path in re.findall(r"\]\(([^):#]+)\)|`((?:deploy|tests|memsidecar)/[\w./-]+)`", text):
        name = path[0] or path[1]
        assert (DEPLOY / name).exists() or (ROOT / name).exists(), name
