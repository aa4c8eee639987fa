"""Sessions: names, messages, windows, scratch values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from memsidecar_client import AsyncMemsidecar, Message, Role, ScratchEntry, ToolCall
from memsidecar_client._session_mapping import session_name
from memsidecar_client.v1 import info_service_pb2
from memsidecar_client.v1 import session_service_pb2 as pb

from memsidecar.domain.scope import Partition, resource_name
from tests.clients.python.fake_sidecar import FakeSidecar, made

NAME = "namespaces/acme/users/ana/sessions/s%2F1"


@pytest.mark.parametrize("user", ["", "ana", "ana@x.org", "Ä/ b%", "a~b:c,d=e+f_g-h.i", "用户"])
def test_names_are_spelled_as_the_server_spells_them(user: str) -> None:
    assert session_name("n s", user, user or "s") == resource_name(Partition("n s", user), "sessions", user or "s")


async def test_handle_makes_no_call_and_names_the_session_itself(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    session = client.session("s/1")
    assert not fake.calls
    await session.get()
    assert fake.only("GetSession").name == NAME
    await client.session("s/1", namespace="n", user="").end()
    assert fake.only("EndSession").name == "namespaces/n/sessions/s%2F1"


async def test_servers_own_namespace_is_asked_for_once(fake: FakeSidecar) -> None:
    fake.answers["GetServerInfo"] = made(info_service_pb2.GetServerInfoResponse, default_namespace="home")
    async with AsyncMemsidecar(fake.target, user="ana") as client:
        await client.session("s").get()
        await client.session("t").delete()
    assert fake.only("GetSession").name == "namespaces/home/users/ana/sessions/s"
    assert fake.only("DeleteSession").name == "namespaces/home/users/ana/sessions/t"
    assert len(fake.calls["GetServerInfo"]) == 1


async def test_created_session_keeps_the_name_the_server_gave(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["CreateSession"] = made(pb.CreateSessionResponse, session={"name": NAME, "labels": {"a": "b"}})
    session = client.session()
    with pytest.raises(ValueError, match=r"create\(\) it first"):
        await session.get()
    created = await session.create(labels={"a": "b"}, ttl=timedelta(minutes=5))
    await session.get()
    request = fake.only("CreateSession")
    assert (request.scope.user, request.scope.agent, request.session_id) == ("ana", "planner", "")
    assert request.session.ttl.seconds == 300
    assert dict(created.labels) == {"a": "b"}
    assert fake.only("GetSession").name == NAME


async def test_listed_session_becomes_a_handle(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    end = datetime(2026, 5, 1, tzinfo=UTC)
    fake.answers["ListSessions"] = made(
        pb.ListSessionsResponse,
        sessions=[
            {
                "name": NAME,
                "scope": {"user": "ana"},
                "last_seq": 7,
                "message_count": 5,
                "end_time": {"seconds": int(end.timestamp())},
            }
        ],
    )
    (listed,) = [session async for session in client.list_sessions(page_size=3)]
    assert (listed.last_seq, listed.message_count, listed.end_time, listed.create_time) == (7, 5, end, None)
    request = fake.only("ListSessions")
    assert (request.scope.user, request.scope.agent, request.scope.session) == ("ana", "", "")
    await client.session(listed).get()
    assert fake.only("GetSession").name == NAME


async def test_update_sends_only_what_is_given(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    session = client.session("s")
    await session.update(labels={}, etag="3")
    await session.update(expire_time=datetime(2026, 5, 1, tzinfo=UTC))
    labels, expiry = (call.request for call in fake.calls["UpdateSession"])
    assert (list(labels.update_mask.paths), labels.session.etag) == (["labels"], "3")
    assert list(expiry.update_mask.paths) == ["expire_time"]
    with pytest.raises(ValueError, match="not both"):
        await session.update(ttl=timedelta(1), expire_time=datetime(2026, 5, 1, tzinfo=UTC))


async def test_messages_come_back_as_they_were_appended(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    said = [
        Message(Role.SYSTEM, "Be kind", pinned=True),
        Message(Role.USER, "Weather?", name="Ana", metadata={"n": 1}, token_count=3),
        Message(Role.ASSISTANT, tool_calls=(ToolCall("c1", "weather", '{"city": "Porto"}'),), group_key="g"),
        Message(Role.TOOL, "sunny", tool_call_id="c1", group_key="g"),
    ]
    fake.answers["AppendMessages"] = made(pb.AppendMessagesResponse, seqs=[1, 2, 3, 4], token_count=30)
    fake.answers["ListMessages"] = lambda _: made(
        pb.ListMessagesResponse, messages=fake.only("AppendMessages").messages
    )
    session = client.session("s")
    appended = await session.append(said, expected_last_seq=0)
    assert (appended.seqs, appended.token_count) == ((1, 2, 3, 4), 30)
    assert fake.only("AppendMessages").HasField("expected_last_seq")
    assert [message async for message in session.messages(min_seq=2)] == said
    assert fake.only("ListMessages").min_seq == 2


async def test_window_keeps_the_servers_defaults_unless_told(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["GetWindow"] = made(
        pb.GetWindowResponse,
        messages=[{"role": 2, "text": "hi", "seq": 9, "create_time": {"seconds": 1}}],
        token_count=5,
        omitted_messages=8,
        shortened=True,
    )
    session = client.session("s")
    window = await session.window()
    await session.window(max_tokens=1000, reserved_tokens=0, max_messages=3, tokenizer="gpt")
    plain, full = (call.request for call in fake.calls["GetWindow"])
    assert not plain.HasField("reserved_tokens")
    assert full.HasField("reserved_tokens")
    assert (full.max_tokens, full.max_messages, full.tokenizer) == (1000, 3, "gpt")
    assert (window.messages[0].seq, window.token_count, window.omitted_messages) == (9, 5, 8)
    assert window.shortened


async def test_scratch_takes_a_dict_or_entries(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["SetScratch"] = lambda request: made(pb.SetScratchResponse, entries=request.entries)
    session = client.session("s")
    stored = await session.set_scratch({"plan": {"step": 2}}, ttl=timedelta(seconds=30))
    assert stored == (ScratchEntry("plan", {"step": 2}),)
    await session.set_scratch([ScratchEntry("lock", True, etag="*")])
    first, second = (call.request for call in fake.calls["SetScratch"])
    assert first.ttl.seconds == 30
    assert second.entries[0].etag == "*"


async def test_scratch_is_read_by_key_and_by_prefix(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["GetScratch"] = made(
        pb.GetScratchResponse, entries=[{"key": "a", "value": {"number_value": 3}, "etag": "1"}]
    )
    fake.answers["DeleteScratch"] = made(pb.DeleteScratchResponse, deleted_count=1)
    session = client.session("s")
    assert await session.get_scratch(["a", "gone"]) == {"a": ScratchEntry("a", 3, etag="1")}
    assert await session.get_scratch([]) == {}
    assert [entry.key async for entry in session.list_scratch("a")] == ["a"]
    by_key, by_prefix = (call.request for call in fake.calls["GetScratch"])
    assert (list(by_key.keys), by_key.key_prefix) == (["a", "gone"], "")
    assert (list(by_prefix.keys), by_prefix.key_prefix) == ([], "a")
    assert await session.delete_scratch(["a"]) == 1
