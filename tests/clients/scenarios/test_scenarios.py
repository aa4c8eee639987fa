"""The scenarios that both clients play, with the Python client; clients/go plays the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FileDescriptor, MethodDescriptor
from memsidecar_client import AsyncMemsidecar, MemsidecarError
from memsidecar_client import v1 as stubs
from memsidecar_client.v1.error_reason_pb2 import ErrorReason

from tests.clients.scenarios import knowledge_operations, operations, stream_operations
from tests.clients.scenarios.playing import Operation, Playing, act, all_steps, check, check_error, scenarios, table
from tests.sidecar import Sidecar

OPERATIONS: Mapping[str, Operation] = {
    **operations.OPERATIONS,
    **knowledge_operations.OPERATIONS,
    **stream_operations.OPERATIONS,
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """For scenarios that ask for no setting and kill nothing; each has a user of its own."""
    with Sidecar(tmp_path_factory.mktemp("scenarios") / "data") as sidecar:
        yield sidecar


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: str(scenario["scenario"]))
async def test_scenario(scenario: Mapping[str, Any], shared: Sidecar, tmp_path: Path) -> None:
    if "server" not in scenario:
        await play(scenario, shared, shared)
        return
    with Sidecar(tmp_path / "data", scenario["server"]) as own:
        await play(scenario, own, shared)


async def play(scenario: Mapping[str, Any], sidecar: Sidecar, shared: Sidecar) -> None:
    user = re.sub(r"\W+", "-", scenario["scenario"])
    saved = {"user": user, "mine": f"namespaces/default/users/{user}"}
    async with (
        AsyncMemsidecar(sidecar.target, user=user, **scenario.get("client", {})) as client,
        AsyncMemsidecar(shared.target, user=user) as other,
    ):
        for step in scenario["steps"]:
            there = (other, shared) if step.get("shared") else (client, sidecar)
            await do(Playing(*there, do, saved), step)


async def do(playing: Playing, step: Mapping[str, Any]) -> None:
    if await act(playing, step["do"]):
        return
    operation, given = OPERATIONS[step["do"]], playing.filled(step.get("with", {}))
    if "error" in step:
        with pytest.raises(MemsidecarError) as raised:
            await operation(playing, given)
        check_error(playing.filled(step["error"]), raised.value)
        return
    result = await operation(playing, given)
    check(playing.filled(step.get("expect", {})), result)
    playing.saved |= {name: str(result[field]) for name, field in step.get("save", {}).items()}


def test_every_rpc_has_a_scenario() -> None:
    used = {step["do"] for step in all_steps()}
    calls = table("operations")
    assert set(calls) == set(OPERATIONS)
    assert set(calls) - used == set()
    assert set(rpcs()) - set(calls.values()) == set()


def test_every_reason_has_a_scenario_or_is_tested_elsewhere() -> None:
    rows = table("reasons")
    assert set(rows) == {name.removeprefix("ERROR_REASON_") for name in ErrorReason.DESCRIPTOR.values_by_name} - {
        "UNSPECIFIED"
    }
    met = {step["error"].get("reason", "") for step in all_steps() if "error" in step}
    elsewhere = {reason for reason, row in rows.items() if "elsewhere" in row}
    assert set(rows) - met == elsewhere


def test_every_ending_of_a_stream_has_a_scenario_or_is_tested_elsewhere() -> None:
    rows, calls = table("endings"), table("operations")
    assert set(rows) == {f"{method.containing_service.name}/{method.name}" for method in methods() if streams(method)}
    shown = {(calls[step["do"]], step["ends"]) for step in all_steps() if "ends" in step}
    assert shown == {(rpc, ending) for rpc, row in rows.items() for ending in row["shown"]}


def streams(method: MethodDescriptor) -> bool:
    return bool(method.client_streaming or method.server_streaming)


def rpcs() -> Iterator[str]:
    return (f"{method.containing_service.name}/{method.name}" for method in methods())


def methods() -> Iterator[MethodDescriptor]:
    for module in Path(str(stubs.__file__)).parent.glob("*_service_pb2.py"):
        loaded = __import__(f"{stubs.__name__}.{module.stem}", fromlist=["DESCRIPTOR"])
        file: FileDescriptor = loaded.DESCRIPTOR
        for service in file.services_by_name.values():
            yield from service.methods
