"""No value of any field of any request gets past the checks into a defect."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor

from memsidecar.v1.info_service_pb2 import GetServerInfoRequest
from tests.server.api import Api
from tests.server.hostile import attack, cases, methods

_NEVER = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNIMPLEMENTED}


@pytest.mark.parametrize("method", list(methods()), ids=lambda method: method.name)
async def test_bad_value_of_any_field_is_refused_by_name(
    channel: grpc.aio.Channel, api: Api, method: MethodDescriptor
) -> None:
    wrong: list[str] = []
    for case in cases(method):
        answer = await attack(channel, case)
        refusal = answer.refusal
        if refusal is not None and (refusal.code in _NEVER or not refusal.reason):
            wrong.append(f"{case}: {refusal.code} {refusal.message}")
        elif case.must_refuse and not answer.names(case.field):
            wrong.append(f"{case}: {refusal.fields if refusal else answer.item_errors or 'accepted'}"[:300])
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:60])
    assert (await api.info.GetServerInfo(GetServerInfoRequest())).version
