"""The blocking client does what the asyncio one does, in one thread of its own."""

from __future__ import annotations

import contextvars
import inspect
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from memsidecar_client import (
    AsyncGeneration,
    AsyncJobWatch,
    AsyncMemoryWatch,
    AsyncMemsidecar,
    AsyncRecallStream,
    AsyncRememberStream,
    AsyncSession,
    Generation,
    HitFound,
    JobWatch,
    MemoryWatch,
    Memsidecar,
    NotFound,
    RecallDone,
    RecallStream,
    RememberStream,
    SessionHandle,
)
from memsidecar_client.v1.memory_service_pb2 import ListMemoriesResponse, RememberResponse
from memsidecar_client.v1.recall_service_pb2 import RecallResponse

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made


def public(face: type) -> dict[str, object]:
    return {name: member for name, member in inspect.getmembers(face) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("asynchronous", "blocking", "attributes"),
    [
        (AsyncMemsidecar, Memsidecar, set()),
        (AsyncSession, SessionHandle, set()),
        (AsyncRecallStream, RecallStream, set()),
        (AsyncRememberStream, RememberStream, {"result"}),  # set by __init__ there, a property here
        (AsyncGeneration, Generation, set()),
        (AsyncMemoryWatch, MemoryWatch, set()),
        (AsyncJobWatch, JobWatch, set()),
    ],
)
def test_both_surfaces_are_one(asynchronous: type, blocking: type, attributes: set[str]) -> None:
    there, here = public(asynchronous), public(blocking)
    assert set(there) == set(here) - attributes
    for name, method in there.items():
        other = here[name]
        if not isinstance(method, property):
            assert callable(method)
            assert callable(other)
            if name != "follow":  # one takes an asynchronous stream, the other does not
                assert inspect.signature(method) == inspect.signature(other), name
        assert inspect.getdoc(method) == inspect.getdoc(other), name
    if asynchronous is AsyncMemsidecar:
        assert inspect.signature(asynchronous) == inspect.signature(blocking)


def test_call_blocks_until_its_answer(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.answers["Remember"] = made(RememberResponse, revision={"token": "r1"})
    assert blocking_client.remember("tea", user="ben").revision == "r1"
    assert fake.only("Remember").scope.user == "ben"


def test_failure_is_raised_in_the_callers_thread(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.failures["GetMemory"].append(Failure(grpc.StatusCode.NOT_FOUND))
    with pytest.raises(NotFound):
        blocking_client.get_memory("n")


def test_list_is_iterated_page_by_page(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.answers["ListMemories"] = lambda request: made(
        ListMemoriesResponse,
        memories=[{"name": request.page_token or "first"}],
        next_page_token="" if request.page_token else "second",
    )
    assert [memory.name for memory in blocking_client.list_memories()] == ["first", "second"]


def test_recall_stream_is_a_with_and_a_for(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.recall_events = [made(RecallResponse, hit={"memory": {"name": "a"}}), made(RecallResponse, summary={})]
    with blocking_client.recall_stream("tea") as events:
        assert [type(event) for event in events] == [HitFound, RecallDone]


def test_leaving_a_recall_stream_cancels_it(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.go_on.clear()
    fake.recall_events = [made(RecallResponse, hit={"memory": {"name": "a"}})]
    with blocking_client.recall_stream("tea") as events:
        next(events)
    assert fake.cancelled.wait(10)


def test_remember_stream_finishes_or_abandons(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    with blocking_client.remember_stream() as stream:
        stream.send(["a", "b"])
    assert stream.result is not None
    assert stream.result.received == 2
    with pytest.raises(ZeroDivisionError), blocking_client.remember_stream():
        raise ZeroDivisionError
    assert fake.cancelled.wait(10)


def test_session_handle_blocks_too(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    session = blocking_client.session("s")
    session.set_scratch({"a": 1})
    assert list(session.messages()) == []
    assert fake.only("ListMessages").session == "namespaces/acme/users/ana/sessions/s"


def test_many_threads_and_clients_share_one_thread(fake: FakeSidecar) -> None:
    with Memsidecar(fake.target) as first, Memsidecar(fake.target) as second, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: (first, second)[n % 2].recall("tea"), range(40)))
        assert [thread.name for thread in threading.enumerate()].count("memsidecar-client") == 1
        first.close()
        second.recall("tea")
    assert "memsidecar-client" not in [thread.name for thread in threading.enumerate()]
    assert len(fake.calls["RecallOnce"]) == 41


def test_closed_client_says_so_and_closes_again(fake: FakeSidecar) -> None:
    client = Memsidecar(fake.target)
    client.recall("tea")
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.recall("tea")


def test_correlation_id_sees_the_callers_context(fake: FakeSidecar) -> None:
    trace: contextvars.ContextVar[str] = contextvars.ContextVar("trace", default="none")
    trace.set("t-1")
    with Memsidecar(fake.target, correlation_id=trace.get) as client:
        client.recall("tea")
    assert fake.calls["RecallOnce"][0].metadata["x-request-id"] == "t-1"


def test_program_that_forgets_to_close_still_ends(fake: FakeSidecar) -> None:
    program = (
        f"from memsidecar_client import Memsidecar; c = Memsidecar({fake.target!r}); c.recall('tea'); print('end')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        env={"PYTHONPATH": "clients/python"},
    )
    assert ended.stdout == "end\n"
    assert ended.stderr == ""
