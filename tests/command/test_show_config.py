from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from memsidecar.command import main
from memsidecar.command.settings import load
from memsidecar.command.values import shown
from memsidecar.config import settings

Output = pytest.CaptureFixture[str]


def test_every_setting_is_printed_with_its_source(
    capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("redis:\n  maxmemory_mb: 7\n")
    monkeypatch.setenv("MEMSIDECAR_NAMESPACE", "acme")
    assert main(["config", "--config", str(file), "--log.level", "debug"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "namespace: acme # environment MEMSIDECAR_NAMESPACE" in lines
    assert f"maxmemory_mb: 7 # {file}:2" in lines
    assert "level: debug # flag --log.level" in lines
    assert "drain_grace: 8 # default" in lines
    assert len([line for line in lines if "#" in line]) == len(settings())


def test_what_is_printed_can_be_read_back_as_a_file(capsys: Output, tmp_path: Path) -> None:
    flags = {
        "namespace": "yes",
        "embedding.model": 'a"b\\c: #d',
        "listen.socket": "0660",
        "listen.socket_mode": "0600",
        "drain_grace": "2.5",
        "data_dir": str(tmp_path / "数据 dir"),
    }
    argv = [word for key, text in flags.items() for word in (f"--{key.replace('_', '-')}", text)]
    assert main(["config", *argv]) == 0
    file = tmp_path / "printed.yaml"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    assert load({}, {}, str(file)).config == load(flags, {}).config
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["namespace"] == "yes"


@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_secrets_are_masked(capsys: Output, monkeypatch: pytest.MonkeyPatch, json_flag: list[str]) -> None:
    monkeypatch.setenv("MEMSIDECAR_TOKEN", "hush")
    monkeypatch.setenv("MEMSIDECAR_REDIS_URL", "rediss://ann:hush@example.org:6380/0?password=hush")
    monkeypatch.setenv("MEMSIDECAR_EMBEDDING_API_KEY", "hush")
    assert main(["config", *json_flag]) == 0
    printed = capsys.readouterr().out
    assert "hush" not in printed
    assert "rediss://ann:***@example.org:6380/0?***" in printed
    assert "***" in printed


@pytest.mark.parametrize("url", ["redis://[bad:hush@x", "redis:/u:hush@h", "hush@h"])
def test_a_url_that_cannot_be_split_is_masked_whole(capsys: Output, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    assert "hush" not in shown(settings()["redis.url"], url)
    monkeypatch.setenv("MEMSIDECAR_REDIS_URL", url)
    assert main(["config"]) == 2
    assert "hush" not in "".join(capsys.readouterr())


def test_json_has_value_and_source_by_key(capsys: Output) -> None:
    assert main(["config", "--json", "--listen.socket-mode", "0600"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == set(settings())
    assert printed["listen.socket_mode"] == {"value": "0600", "source": "flag --listen.socket-mode"}
    assert printed["drain_grace"] == {"value": 8.0, "source": "default"}


def test_an_environment_variable_that_sets_nothing_is_mentioned(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSIDECAR_LOGLEVEL", "debug")
    assert main(["config"]) == 0
    assert "did you mean MEMSIDECAR_LOG_LEVEL?" in capsys.readouterr().err
