"""A scenario on its way: its client, its sidecar, and what its steps have saved."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from memsidecar_client import AsyncMemsidecar, MemsidecarError

from tests.sidecar import Sidecar

FOLDER = Path(__file__).parent

Arguments: TypeAlias = dict[str, Any]
Result: TypeAlias = dict[str, Any]


@dataclass
class Playing:
    client: AsyncMemsidecar
    sidecar: Sidecar
    saved: dict[str, str] = field(default_factory=dict)

    def filled(self, value: Any) -> Any:
        """The value with every ${name} replaced by what an earlier step has saved."""
        match value:
            case str():
                return re.sub(r"\$\{(\w+)\}", lambda found: self.saved[found[1]], value)
            case list():
                return [self.filled(each) for each in value]
            case dict():
                return {key: self.filled(each) for key, each in value.items()}
            case _:
                return value


Operation: TypeAlias = Callable[[Playing, Arguments], Awaitable[Result]]


async def act(playing: Playing, word: str) -> bool:
    """Does what a word asks to do with the process; False for any other word."""
    match word:
        case "kill":
            playing.sidecar.kill()
        case "stop":
            playing.sidecar.terminate()
        case "exited":
            await asyncio.to_thread(playing.sidecar.wait)
        case "start":
            # In a thread: streams that go on by themselves need the loop meanwhile.
            await asyncio.to_thread(playing.sidecar.start)
        case _:
            return False
    return True


def scenarios() -> list[dict[str, Any]]:
    files = [path for path in sorted(FOLDER.glob("*.yaml")) if path.stem != "operations"]
    return [each for path in files for each in yaml.safe_load(path.read_text(encoding="utf-8"))]


def operation_calls() -> Mapping[str, str]:
    calls: dict[str, str] = yaml.safe_load((FOLDER / "operations.yaml").read_text(encoding="utf-8"))
    return calls


def check_error(wanted: Mapping[str, Any], error: MemsidecarError) -> None:
    assert (error.code, error.reason) == (wanted["code"], wanted.get("reason", "")), f"{error.reason}: {error}"
    for key, value in wanted.get("metadata", {}).items():
        assert error.metadata.get(key) == value, key
    if "field" in wanted:
        assert wanted["field"] in [violation.field for violation in error.violations]


def check(expected: Mapping[str, Any], result: Result) -> None:
    for name, value in expected.items():
        if name == "mentions":
            assert all(each in str(result[name]) for each in value), result
        else:
            assert result[name] == value, (name, result)
