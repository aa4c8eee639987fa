"""No value of any field of any request gets past the checks of the real process."""

from __future__ import annotations

import grpc

from memsidecar.v1.info_service_pb2 import GetServerInfoRequest
from tests.e2e.process import Launch
from tests.server.api import Api
from tests.server.hostile import Case, attack, cases, methods

_NEVER = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNIMPLEMENTED}
# What grpc.aio says of its own failure to send to a server that has answered already; it then loses the answer.
_NOT_SENT = "Internal error from Core"


async def test_bad_value_of_any_field_is_refused_by_name(launch: Launch) -> None:
    sidecar = launch({"embedding.dimensions": "2"})
    wrong: list[str] = []
    async with grpc.aio.insecure_channel(sidecar.target) as channel:
        sent = 0
        for method in methods():
            for case in cases(method):
                sent += 1
                wrong += await _problem(channel, case)
        assert sent > 300
        assert (await Api(channel).info.GetServerInfo(GetServerInfoRequest())).version
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:60])
    assert "Traceback" not in sidecar.log()


async def _problem(channel: grpc.aio.Channel, case: Case) -> list[str]:
    answer = await attack(channel, case)
    while answer.refusal is not None and answer.refusal.message == _NOT_SENT:
        answer = await attack(channel, case)
    refusal = answer.refusal
    if refusal is not None and (refusal.code in _NEVER or not refusal.reason):
        return [f"{case}: {refusal.code} {refusal.message}"]
    if (
        case.must_refuse
        and not answer.names(case.field)
        and (refusal is None or refusal.reason != "RESOURCE_NOT_FOUND")
    ):
        return [f"{case}: {refusal.fields if refusal else answer.item_errors or 'accepted'}"[:300]]
    return []
