"""A conversation is remembered, recalled, and still there after a restart; every call of the API works for real."""

from __future__ import annotations

from datetime import timedelta

import pytest
from memsidecar_client import (
    Fact,
    HitFound,
    Memory,
    MemoryState,
    Memsidecar,
    Message,
    NotFound,
    RecallDone,
    RememberAction,
    Role,
    Tier,
    TierOutcome,
    WriteWait,
)

from tests.e2e.process import CLEAN, Launch, verify
from tests.e2e.story import ALL, answers, tell, vector


def test_restart_keeps_everything_and_gives_the_same_answers(launch: Launch, engine: str) -> None:
    sidecar = launch({"graph.engine": engine})
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client)
        before = answers(client)
        assert sidecar.stop() == 0
        sidecar.start()
        assert answers(client) == before
        assert sidecar.stop() == 0
    assert verify(sidecar.data_dir, {"graph.engine": engine}) == CLEAN


def test_a_local_model_finds_what_was_said_in_two_languages(launch: Launch) -> None:
    sidecar = launch({"embedding.provider": "use", "embedding.model": "", "embedding.dimensions": "0"})
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client, vectors=False)
        for question, wanted in (
            ("Which city does my brother live in now?", "Lisbon"),
            ("花生过敏怎么办", "花生"),
            ("What does Ann like to drink?", "tea"),
        ):
            found = client.recall(question, max_hits=5)
            assert any(wanted in hit.memory.text for hit in found.hits), question
            assert not found.degraded
            assert all(0 <= hit.score <= 1 for hit in found.hits)
            assert {report.tier: report.outcome for report in found.tiers}[Tier.VECTOR] is TierOutcome.OK


def test_every_call_works_once(launch: Launch) -> None:
    sidecar = launch({"tokenizer": "o200k"})
    with Memsidecar(sidecar.target, user="ann", agent="planner") as client:
        info = client.ready(timeout=10)
        assert info.graph_engine == "kuzu"
        assert info.embedding_dimension == len(vector(""))

        _memories(client)
        _sessions(client)


def _memories(client: Memsidecar) -> None:
    one = client.remember("Ben lives in Lisbon.", embedding=vector("Ben lives in Lisbon."), wait=WriteWait.SEARCHABLE)
    assert one.outcomes[0].action is RememberAction.CREATED
    again = client.remember("Ben lives in Lisbon.", embedding=vector("Ben lives in Lisbon."))
    assert again.memories[0].name == one.memories[0].name
    many = client.remember_many(["Clara plays chess.", Fact("Water boils at 100 °C")], wait=WriteWait.DURABLE)
    assert [len(result.outcomes) for result in many.results] == [1, 1]
    with client.remember_stream() as stream:
        stream.send(["first", "second"])
        stream.send(["third"])
    assert stream.result is not None
    assert (stream.result.received, stream.result.failure_count) == (3, 0)

    fact = client.create_memory(Fact("Ben is 41"), memory_id="age", embedding=vector("Ben is 41")).memory
    assert client.get_memory(fact.name) == fact
    changed = client.update_memory(Memory(Fact("Ben is 42"), name=fact.name), fields=["fact.statement"])
    assert changed.memory.text == "Ben is 42"
    assert client.get_memories([fact.name, one.memories[0].name])[0].text == "Ben is 42"
    found = client.recall("How old is Ben?", min_revision=changed.revision, explain=True)
    assert found.hits[0].memory.name == fact.name
    assert found.hits[0].explanation is not None
    with client.recall_stream("How old is Ben?") as events:
        seen = list(events)
    assert any(isinstance(event, HitFound) and event.hit.memory.name == fact.name for event in seen)
    assert isinstance(seen[-1], RecallDone)

    assert client.delete_memory(fact.name).memory is not None
    assert fact.name not in {m.name for m in client.list_memories()}
    assert client.undelete_memory(fact.name).memory.state is MemoryState.ACTIVE
    assert len(list(client.memory_history(fact.name))) == 4
    assert client.delete_memory(fact.name, purge=True).memory is None
    with pytest.raises(NotFound):
        client.get_memory(fact.name)
    assert fact.name not in {m.name for m in client.list_memories(ALL)}


def _sessions(client: Memsidecar) -> None:
    session = client.session("s1")
    assert session.create(labels={"kind": "chat"}).labels == {"kind": "chat"}
    assert session.append([Message(Role.USER, "Hello"), Message(Role.ASSISTANT, "你好")]).seqs == (1, 2)
    assert [message.text for message in session.messages()] == ["Hello", "你好"]
    assert session.window(max_tokens=1000).messages[-1].text == "你好"
    assert session.update(labels={"kind": "call"}, ttl=timedelta(hours=1)).labels == {"kind": "call"}
    (entry,) = session.set_scratch({"step": {"n": 1}})
    assert session.get_scratch(["step"])["step"].value == {"n": 1}
    assert [e.key for e in session.list_scratch()] == [entry.key]
    assert session.delete_scratch(["step"]) == 1
    assert session.get().message_count == 2
    assert [s.name for s in client.list_sessions()] == [session.get().name]
    assert session.end().end_time is not None
    session.delete()
    assert list(client.list_sessions()) == []
