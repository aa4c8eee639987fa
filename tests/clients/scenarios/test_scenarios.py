"""The scenarios that both clients play, with the Python client; clients/go plays the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FileDescriptor
from memsidecar_client import AsyncMemsidecar, MemsidecarError
from memsidecar_client import v1 as stubs

from tests.clients.scenarios import knowledge_operations, operations, stream_operations
from tests.clients.scenarios.playing import Operation, Playing, act, check, check_error, operation_calls, scenarios
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
        await play(scenario, shared)
        return
    with Sidecar(tmp_path / "data", scenario["server"]) as own:
        await play(scenario, own)


async def play(scenario: Mapping[str, Any], sidecar: Sidecar) -> None:
    user = re.sub(r"\W+", "-", scenario["scenario"])
    async with AsyncMemsidecar(sidecar.target, user=user, **scenario.get("client", {})) as client:
        playing = Playing(client, sidecar, {"user": user, "mine": f"namespaces/default/users/{user}"})
        for step in scenario["steps"]:
            await do(playing, step)


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
    used = {step["do"] for scenario in scenarios() for step in scenario["steps"]}
    calls = operation_calls()
    assert set(calls) == set(OPERATIONS)
    assert set(calls) - used == set()
    assert set(rpcs()) - set(calls.values()) == set()


def rpcs() -> Iterator[str]:
    for module in Path(str(stubs.__file__)).parent.glob("*_service_pb2.py"):
        loaded = __import__(f"{stubs.__name__}.{module.stem}", fromlist=["DESCRIPTOR"])
        file: FileDescriptor = loaded.DESCRIPTOR
        for service in file.services_by_name.values():
            yield from (f"{service.name}/{method.name}" for method in service.methods)
