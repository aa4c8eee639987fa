"""Grafana reads the dashboard: its own model of one takes every field, and writes the same again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

FILE = Path(__file__).parents[2] / "deploy" / "grafana" / "memsidecar.json"


def test_grafanas_model_keeps_every_field() -> None:
    plugins.register_default_plugins()
    written = json.loads(FILE.read_text())
    assert list(lost(written, _through_the_model(written))) == []


def test_a_field_that_grafana_does_not_know_is_found() -> None:
    plugins.register_default_plugins()
    written = json.loads(FILE.read_text())
    panel = next(each for each in written["panels"] if each["type"] == "timeseries")
    panel["options"]["legnd"] = panel["options"].pop("legend")
    assert [path for path in lost(written, _through_the_model(written)) if "legnd" in path]


def _through_the_model(written: dict[str, Any]) -> Any:
    return json.loads(JSONEncoder().encode(Dashboard.from_json(written)))


def lost(written: Any, kept: Any, path: str = "dashboard") -> Iterator[str]:
    """What is not in `kept` as it was written. Defaults that the model adds are no loss."""
    if isinstance(written, dict) and isinstance(kept, dict):
        for key, value in written.items():
            yield from lost(value, kept.get(key), f"{path}.{key}")
    elif isinstance(written, list) and isinstance(kept, list) and len(written) == len(kept):
        for number, (value, other) in enumerate(zip(written, kept, strict=True)):
            yield from lost(value, other, f"{path}[{number}]")
    elif written != kept:
        yield path
