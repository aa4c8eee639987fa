"""`memsidecar config`: the effective configuration, in the form of the file."""

from __future__ import annotations

import json
from typing import Any

from memsidecar.command import exit_codes
from memsidecar.command.settings import Loaded
from memsidecar.command.values import for_json, shown
from memsidecar.config import settings, value_of


def show_config(loaded: Loaded, as_json: bool) -> int:
    """Prints it with the source of each value, secrets masked."""
    print(_json(loaded) if as_json else _yaml(loaded))
    return exit_codes.OK


def _yaml(loaded: Loaded) -> str:
    lines = []
    section = ""
    for key, setting in settings().items():
        if setting.section != section:
            section = setting.section
            lines.append(f"{section}:")
        assignment = f"{'  ' if section else ''}{setting.name}: {shown(setting, value_of(loaded.config, setting))}"
        lines.append(f"{assignment:<56} # {loaded.sources[key]}")
    return "\n".join(lines)


def _json(loaded: Loaded) -> str:
    rows: dict[str, Any] = {
        key: {"value": for_json(setting, value_of(loaded.config, setting)), "source": loaded.sources[key]}
        for key, setting in settings().items()
    }
    return json.dumps(rows, indent=2)
