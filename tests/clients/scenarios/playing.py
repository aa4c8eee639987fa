"""A scenario on its way: its client, its sidecar, and what its steps have saved."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from memsidecar_client import (
    AlreadyExists,
    AsyncMemsidecar,
    Conflict,
    DataLoss,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    MemsidecarError,
    NotFound,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)

from tests.sidecar import Sidecar

FOLDER = Path(__file__).parent
TABLES = ("operations", "reasons", "endings")
"""Files that are no scenarios."""

TYPES: Mapping[str, type[MemsidecarError]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "ABORTED": Conflict,
    "FAILED_PRECONDITION": FailedPrecondition,
    "RESOURCE_EXHAUSTED": ResourceExhausted,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "DATA_LOSS": DataLoss,
    "UNAUTHENTICATED": Unauthenticated,
}

Arguments: TypeAlias = dict[str, Any]
Result: TypeAlias = dict[str, Any]


@dataclass
class Playing:
    client: AsyncMemsidecar
    sidecar: Sidecar
    perform: Callable[[Playing, Mapping[str, Any]], Awaitable[None]]
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
        case "damage":
            ledger = playing.sidecar.data_dir / "ledger.db"
            written = ledger.read_bytes()
            assert b"gets damaged" in written
            ledger.write_bytes(written.replace(b"gets damaged", b"gets Damaged"))
        case "start":
            # In a thread: streams that go on by themselves need the loop meanwhile.
            await asyncio.to_thread(playing.sidecar.start)
        case _:
            return False
    return True


def scenarios() -> list[dict[str, Any]]:
    files = [path for path in sorted(FOLDER.glob("*.yaml")) if path.stem not in TABLES]
    return [each for path in files for each in yaml.safe_load(path.read_text(encoding="utf-8"))]


def all_steps() -> Iterator[Mapping[str, Any]]:
    """The steps of all scenarios, also those within others."""
    for scenario in scenarios():
        for step in scenario["steps"]:
            yield from _with_inner(step)


def _with_inner(step: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield step
    given = step.get("with", {})
    script = [word for word in given.get("script", []) if isinstance(word, dict)]
    for inner in (*given.get("between", []), *(word["meanwhile"] for word in script if "meanwhile" in word)):
        yield from _with_inner(inner)


@cache
def table(name: str) -> Mapping[str, Any]:
    """One of TABLES."""
    rows: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return rows


def check_error(wanted: Mapping[str, Any], error: MemsidecarError) -> None:
    assert (error.code, error.reason) == (wanted["code"], wanted.get("reason", "")), f"{error.reason}: {error}"
    assert type(error) is TYPES[wanted["code"]]
    if error.reason:
        row = table("reasons")[error.reason]
        assert error.code == row["code"]
        assert set(row.get("metadata", [])) <= set(error.metadata)
        assert bool(error.retry_after) == row.get("retry", False), error.retry_after
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
