"""What type checkers see of the blocking client, whose methods are derived: mypy checks this file."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_type

from memsidecar_client import (
    Appended,
    Context,
    Memory,
    MemoryWatch,
    Memsidecar,
    Message,
    Pages,
    RecallEvent,
    RecallResult,
    RecallStream,
    Remembered,
    RememberStream,
    ScratchEntry,
    ServerInfo,
    Session,
    SessionHandle,
    StreamSummary,
    WatchEvent,
    Written,
)


def every_shape(client: Memsidecar, memory: Memory) -> None:
    """One call of each shape; never run."""
    assert_type(client.ready(), ServerInfo)
    assert_type(client.remember("tea", user="ana", labels={"a": "b"}), Remembered)
    assert_type(client.update_memory(memory, fields=["importance"]), Written)
    assert_type(client.recall("tea", max_hits=3), RecallResult)
    assert_type(client.build_context("tea", conversation=next(client.list_sessions())), Context)
    assert_type(client.list_memories(page_size=10), Pages[Memory])
    assert_type(next(client.list_sessions()), Session)
    assert_type(client.session("s"), SessionHandle)
    assert_type(client.session("s").append([]), Appended)
    assert_type(client.session("s").messages(), Pages[Message])
    assert_type(client.session("s").get_scratch(["a"]), dict[str, ScratchEntry])
    with client.remember_stream(session="s") as stream:
        assert_type(stream, RememberStream)
        stream.send(["a"])
        assert_type(stream.finish(), StreamSummary)
    with client.recall_stream("tea") as events:
        assert_type(events, RecallStream)
        assert_type(next(events), RecallEvent)
    with client.watch_memories(after="r") as told:
        assert_type(told, MemoryWatch)
        assert_type(next(told), WatchEvent)
        assert_type(told.next_event(timeout=1.0), WatchEvent | None)

    # A wrong argument is an error, not Any: were it none, mypy would report the comment as unused.
    client.remember("tea", usr="ana")  # type: ignore[call-arg]
    client.recall(3)  # type: ignore[arg-type]
    client.session("s").append("hi")  # type: ignore[arg-type]


def test_shapes_are_checked_by_mypy() -> None:
    check: Callable[[Memsidecar, Memory], None] = every_shape
    assert callable(check)
