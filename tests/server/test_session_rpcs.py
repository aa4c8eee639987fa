from __future__ import annotations

import pytest
from google.protobuf.struct_pb2 import NULL_VALUE

from memsidecar.domain.scope import Scope
from memsidecar.domain.session import Message, Role, ScratchWrite, ToolCall
from memsidecar.v1 import scope_pb2
from memsidecar.v1 import session_service_pb2 as pb
from tests.server.api import Api, refused
from tests.server.fakes import NOW, World

S1 = "namespaces/home/users/ann/sessions/s1"
USER, TOOL = pb.MESSAGE_ROLE_USER, pb.MESSAGE_ROLE_TOOL
ANN = scope_pb2.Scope(user="ann")


async def test_session_is_created_under_the_first_id_given(api: Api, world: World) -> None:
    session = pb.Session(labels={"a": "b"})
    session.ttl.FromSeconds(5)
    scope = scope_pb2.Scope(user="ann", session="from scope", agent="bot")
    created = (await api.session.CreateSession(pb.CreateSessionRequest(scope=scope, session=session))).session
    assert created.name == "namespaces/home/users/ann/sessions/from%20scope"
    assert world.calls[0][1:6] == (Scope("home", "ann", "bot", "from scope"), "from scope", {"a": "b"}, None, 5_000_000)
    assert created.expire_time.ToMicroseconds() == NOW + 5_000_000
    request = pb.CreateSessionRequest(scope=scope, session_id="own")
    assert (await api.session.CreateSession(request)).session.name.endswith("/own")
    assert (await api.session.GetSession(pb.GetSessionRequest(name=created.name))).session == created


async def test_sessions_page_by_id(api: Api) -> None:
    for i in range(4):
        await api.session.CreateSession(pb.CreateSessionRequest(scope=ANN, session_id=f"界{i}"))
    request, names = pb.ListSessionsRequest(scope=ANN, page_size=2), []
    while True:
        response = await api.session.ListSessions(request)
        names += [s.name for s in response.sessions]
        if not response.next_page_token:
            break
        request.page_token = response.next_page_token
    assert len(names) == len(set(names)) == 5
    bad = pb.ListSessionsRequest(scope=scope_pb2.Scope(user="ann", agent="x"), page_token="nonsense")
    assert set((await refused(api.session.ListSessions(bad))).fields) == {"scope.agent", "page_token"}


@pytest.mark.parametrize(
    ("mask", "expected"),
    [(None, ({"a": "b"}, None, 5_000_000)), (["labels"], ({"a": "b"}, None, None)), (["ttl"], (None, None, 5_000_000))],
)
async def test_update_changes_what_is_asked(api: Api, world: World, mask: list[str] | None, expected: object) -> None:
    request = pb.UpdateSessionRequest(session=pb.Session(name=S1, labels={"a": "b"}, etag="3"))
    request.session.ttl.FromSeconds(5)
    if mask:
        request.update_mask.paths.extend(mask)
    await api.session.UpdateSession(request)
    assert world.calls[-1][2:5] == expected
    assert world.calls[-1][5] == "3"


@pytest.mark.parametrize(
    ("mask", "field"),
    [(["expire_time"], "session.expire_time"), (["name"], "update_mask.paths[0]"), ([], "update_mask")],
)
async def test_update_that_makes_no_sense_is_refused(api: Api, mask: list[str], field: str) -> None:
    request = pb.UpdateSessionRequest(session=pb.Session(name=S1))
    request.update_mask.paths.extend(mask)
    assert set((await refused(api.session.UpdateSession(request))).fields) == {field}


async def test_messages_go_in_and_come_out(api: Api, world: World) -> None:
    messages = [
        pb.Message(role=pb.MESSAGE_ROLE_USER, text="hi", name="Ann", pinned=True, group_key="g", token_count=3),
        pb.Message(role=pb.MESSAGE_ROLE_ASSISTANT, tool_calls=[pb.ToolCall(id="c", name="f", arguments="{}")]),
        pb.Message(role=pb.MESSAGE_ROLE_TOOL, tool_call_id="c"),
    ]
    messages[0].metadata.update({"k": 1})
    request = pb.AppendMessagesRequest(session=S1, messages=messages, expected_last_seq=0)
    appended = await api.session.AppendMessages(request)
    assert list(appended.seqs) == [1, 2, 3]
    assert world.calls[-1][3] == 0
    assert world.calls[-1][2][1] == Message(Role.ASSISTANT, "", tool_calls=(ToolCall("c", "f", "{}"),))
    listed = await api.session.ListMessages(pb.ListMessagesRequest(session=S1, page_size=2, min_seq=2))
    assert [m.seq for m in listed.messages] == [2, 3]
    window = await api.session.GetWindow(pb.GetWindowRequest(session=S1, reserved_tokens=0, max_tokens=9))
    assert world.calls[-1][2:] == (9, 0, 0, "")
    assert window.shortened
    for before, after in zip(messages, window.messages, strict=True):
        after.ClearField("seq")
        after.ClearField("create_time")
        assert before == after


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (pb.Message(text="x"), "messages[0].role"),
        (pb.Message(role=USER), "messages[0].text"),
        (pb.Message(role=TOOL, text="x"), "messages[0].tool_call_id"),
        (pb.Message(role=USER, text="x", tool_calls=[pb.ToolCall(id="a", name="b")]), "messages[0].tool_calls"),
    ],
)
async def test_message_that_makes_no_sense_is_refused(api: Api, message: pb.Message, field: str) -> None:
    refusal = await refused(api.session.AppendMessages(pb.AppendMessagesRequest(session=S1, messages=[message])))
    assert set(refusal.fields) == {field}


async def test_scratch_values_of_any_key(api: Api, world: World) -> None:
    keys = ["a*[x]\n", "界", " "]
    entries = [pb.ScratchEntry(key=key, etag=etag) for key, etag in zip(keys, ("*", "7", ""), strict=True)]
    entries[0].value.null_value = NULL_VALUE
    entries[1].value.number_value = 3
    entries[2].value.struct_value.update({"deep": [True, "x"]})
    response = await api.session.SetScratch(pb.SetScratchRequest(session=S1, entries=entries))
    assert world.calls[-1][2] == (
        ScratchWrite(keys[0], "null", None, 0),
        ScratchWrite(keys[1], "3", None, 7),
        ScratchWrite(keys[2], '{"deep":[true,"x"]}', None, None),
    )
    assert [e.value for e in response.entries] == [e.value for e in entries]
    got = await api.session.GetScratch(pb.GetScratchRequest(session=S1, keys=[keys[1], "none", keys[1]]))
    assert [e.key for e in got.entries] == [keys[1]]
    request, listed = pb.GetScratchRequest(session=S1, page_size=1), []
    while True:
        page = await api.session.GetScratch(request)
        listed += [e.key for e in page.entries]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert listed == sorted(keys)
    deleted = await api.session.DeleteScratch(pb.DeleteScratchRequest(session=S1, keys=[*keys, keys[0]]))
    assert deleted.deleted_count == 3


async def test_scratch_that_makes_no_sense_is_refused(api: Api) -> None:
    entry = pb.ScratchEntry(key="k", etag="x")
    entry.value.bool_value = True
    request = pb.SetScratchRequest(session=S1, entries=[entry, entry])
    refusal = await refused(api.session.SetScratch(request))
    assert set(refusal.fields) == {"entries[0].etag", "entries[1].etag", "entries[1].key"}
    both = pb.GetScratchRequest(session=S1, keys=["a"], key_prefix="b")
    assert set((await refused(api.session.GetScratch(both))).fields) == {"keys"}


async def test_end_and_delete(api: Api, world: World) -> None:
    ended = await api.session.EndSession(pb.EndSessionRequest(name=S1))
    assert ended.session.HasField("end_time")
    request_id = "6f7c3a52-6a5e-4b52-9d0b-0c9a1f6e2b11"
    await api.session.DeleteSession(pb.DeleteSessionRequest(name=S1, request_id=request_id))
    assert world.calls[-1][2].request_id == request_id
