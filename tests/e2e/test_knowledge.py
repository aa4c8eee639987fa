"""Knowledge that changes, told to the real process in plain words: what is so now, what was, and who decided it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from memsidecar_client import (
    ConflictChanged,
    ConflictPolicy,
    ConflictResolution,
    ConflictState,
    ConversationTurn,
    Entity,
    Fact,
    FailedPrecondition,
    InvalidArgument,
    Memory,
    MemoryState,
    Memsidecar,
    NotFound,
    RememberAction,
    Remembered,
)

from tests.e2e.process import CLEAN, Launch, verify

NO_VECTORS = {"embedding.provider": "none"}
YEAR_2024, YEAR_2025 = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC)


def tell(client: Memsidecar, text: str, time: datetime | None = None, **more: object) -> Remembered:
    return client.remember(text, speaker="user", time=time, **more)  # type: ignore[arg-type]


def read_out_of(remembered: Remembered) -> list[Memory]:
    return [outcome.memory for outcome in remembered.outcomes if outcome.extracted_from]


def homes(client: Memsidecar, **when: datetime) -> list[str]:
    return [value.memory.text for value in client.slot_history("home city", **when)]  # type: ignore[arg-type]


@pytest.mark.timeout(120)
def test_a_move_is_known_at_every_time_and_survives_a_kill(launch: Launch, engine: str) -> None:
    sidecar = launch({**NO_VECTORS, "graph.engine": engine})
    with Memsidecar(sidecar.target, user="ann") as client:
        rome = read_out_of(tell(client, "I live in Rome.", YEAR_2024))[0]
        told_of_rome = datetime.now(UTC)
        moved = tell(client, "I moved to Oslo.", YEAR_2025)
        (outcome,) = [o for o in moved.outcomes if o.extracted_from]
        assert outcome.action is RememberAction.SUPERSEDED
        assert outcome.superseded == (rome.name,)
        assert moved.stages.extracted
        (name,) = outcome.conflicts
        # What is so now; what was so then; what was believed then.
        hits = client.recall("Where do I live?").hits
        assert rome.name not in {name for hit in hits for name in (hit.memory.name, *hit.duplicates)}
        # What was said stays, with a word on how it stands.
        (standing,) = [standing for hit in hits for standing in hit.standings]
        assert (standing.memory, standing.superseding_memory) == (rome.name, outcome.memory.name)
        history = list(client.slot_history("lives in"))
        assert [(value.memory.state, value.ended_by) for value in history] == [
            (MemoryState.SUPERSEDED, name),
            (MemoryState.ACTIVE, ""),
        ]
        assert homes(client, valid_at=YEAR_2024 + timedelta(days=9)) == [rome.text]
        assert homes(client, valid_at=YEAR_2025) == [outcome.memory.text]
        assert homes(client, known_at=told_of_rome) == [rome.text]
        assert client.get_memory(rome.name, known_at=told_of_rome).state is MemoryState.ACTIVE
        with pytest.raises(NotFound):
            client.get_memory(rome.name, valid_at=YEAR_2025)
        facts = [m.name for m in client.list_memories(valid_at=YEAR_2024 + timedelta(days=9)) if m.kind.name == "FACT"]
        assert facts == [rome.name]
        before = client.get_conflict(name)
        assert "Rome" in before.conflict.explanation
        assert [evidence.quote for evidence in before.conflict.evidence] == ["I live in Rome", "I moved to Oslo"]
    sidecar.kill()
    sidecar.start()
    with Memsidecar(sidecar.target, user="ann") as client:
        assert client.get_conflict(name) == before
        with client.watch_memories() as events:
            undone = client.undo_resolution(name, etag=before.conflict.etag, reason="he was joking")
            told = next(event for event in events if isinstance(event, ConflictChanged))
        assert told.conflict == undone.conflict
        assert undone.conflict.state is ConflictState.UNDONE
        assert {m.state for m in undone.memories} == {MemoryState.ACTIVE}
        now = client.get_memory(rome.name)
        assert (now.valid_start_time, now.valid_end_time, now.update_time) == (
            rome.valid_start_time,
            rome.valid_end_time,
            rome.update_time,
        )
    sidecar.stop()
    assert verify(sidecar.data_dir, {**NO_VECTORS, "graph.engine": engine}) == CLEAN


@pytest.mark.parametrize(
    ("first", "second", "values", "language", "answer"),
    [
        ("I live in Rome.", "I live in Oslo.", ("Rome", "Oslo"), "en", "Oslo, since last year"),
        ("我住在北京。", "我住在上海。", ("北京", "上海"), "zh", "是上海"),
    ],
)
def test_the_user_is_asked_in_his_language_and_his_answer_decides(
    launch: Launch, first: str, second: str, values: tuple[str, str], language: str, answer: str
) -> None:
    sidecar = launch({**NO_VECTORS, "conflicts.policies": "lives_in=ask"})
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client, first, YEAR_2024)
        disputed = tell(client, second, YEAR_2025)
        assert disputed.outcomes[-1].action is RememberAction.CONFLICT_FLAGGED
        (conflict,) = client.conflicts()
        assert (conflict.question_language, conflict.policy) == (language, ConflictPolicy.ASK)
        assert all(value in conflict.question for value in values)
        with pytest.raises(InvalidArgument) as caught:
            client.resolve_conflict(conflict.name, answer="hmm")
        assert [violation.field for violation in caught.value.violations] == ["answer"]
        settled = client.resolve_conflict(conflict.name, answer=answer)
        assert [memory.state for memory in settled.memories] == [MemoryState.SUPERSEDED, MemoryState.ACTIVE]
        assert not list(client.conflicts())
        with Memsidecar(sidecar.target, user="ben") as stranger, pytest.raises(NotFound):
            stranger.get_conflict(conflict.name.replace("users/ann", "users/ben"))


def test_conflicts_are_refused_kept_split_and_dismissed(launch: Launch) -> None:
    sidecar = launch({**NO_VECTORS, "conflicts.policies": "employer=reject; acme: employer=flag"})
    with Memsidecar(sidecar.target, user="ann") as client:
        job = client.remember(Fact("works at Acme", predicate="employer", object_text="Acme")).memories[0]
        other = Fact("works at Globex", predicate="employer", object_text="Globex")
        with pytest.raises(FailedPrecondition) as caught:
            client.remember(other)
        assert caught.value.reason == "CONFLICT_REJECTED"
        assert caught.value.metadata["memories"] == job.name
        both = client.remember(other, conflict_policy=ConflictPolicy.KEEP_BOTH).outcomes[0]
        kept = client.get_conflict(both.conflicts[0])
        assert kept.conflict.resolution is ConflictResolution.KEPT_BOTH
        assert {memory.state for memory in kept.memories} == {MemoryState.ACTIVE}
    with Memsidecar(sidecar.target, namespace="acme", user="ann") as client:
        client.remember(Fact("works at Acme", predicate="employer", object_text="Acme"))
        flagged = client.remember(other).outcomes[0]
        (name,) = flagged.conflicts
        old, new = client.get_conflict(name).conflict.memories
        split = client.resolve_conflict(name, split={old: (None, YEAR_2024), new: (YEAR_2024, None)})
        assert split.conflict.resolution is ConflictResolution.SPLIT
        then = client.list_memories(valid_at=YEAR_2024 - timedelta(days=1))
        assert [memory.name for memory in then if memory.kind.name == "FACT"] == [old]
        client.undo_resolution(name)
        third = client.remember(Fact("works at Initech", predicate="employer", object_text="Initech")).outcomes[0]
        dismissed = client.resolve_conflict(third.conflicts[0], dismiss=True)
        assert dismissed.conflict.state is ConflictState.DISMISSED


def test_a_conversation_is_learned_from_the_users_side_alone(launch: Launch) -> None:
    sidecar = launch(NO_VECTORS)
    turns = [
        ConversationTurn("I work at Globex now.", "user", YEAR_2025, "m1"),
        ConversationTurn("I live in Paris, as a model.", "assistant", YEAR_2025, "m2"),
        ConversationTurn("我对花生过敏。", "user", YEAR_2025, "m3"),
    ]
    with Memsidecar(sidecar.target, user="ann") as client:
        remembered = client.remember_conversation(turns, session="s1")
        episodes = [o.memory for o in remembered.outcomes if not o.extracted_from]
        assert [memory.provenance[0].messages for memory in episodes] == [("m1",), ("m2",), ("m3",)]
        facts = read_out_of(remembered)
        assert [memory.text for memory in facts] == ["I work at Globex now", "我对花生过敏"]
        assert {memory.provenance[0].derived_memories for memory in facts} == {(episodes[0].name,), (episodes[2].name,)}
        plain = client.remember_conversation(turns, session="s2", user="ben", skip_extraction=True)
        assert not read_out_of(plain)


def test_entities_are_merged_and_parted_again(launch: Launch) -> None:
    sidecar = launch(NO_VECTORS)
    with Memsidecar(sidecar.target, user="ann") as client:
        acme = client.create_memory(Entity("Acme", "organisation")).memory
        corp = client.create_memory(Entity("Acme Corp", "organisation")).memory
        fact = client.create_memory(Fact("Acme Corp is in Oslo", subject=corp.name, predicate="located_in")).memory
        assert client.merge_entities(acme.name, [corp.name], validate_only=True).moved_memories == 1
        assert client.get_memory(fact.name).body == fact.body
        merged = client.merge_entities(acme.name, [corp.name], reason="the same firm")
        assert merged.moved_memories == 1
        assert [near.memory.name for near in client.neighbors(acme.name, relations=["ABOUT"])] == [fact.name]
        parted = client.undo_merge_entities(corp.name)
        assert [entity.name for entity in parted.entities] == [corp.name, acme.name]
        assert client.get_memory(fact.name).body == fact.body


@pytest.mark.parametrize(
    "setting",
    [{"conflicts.policies": "lives_in=perhaps"}, {"conflicts.single": "pet", "conflicts.multi": "pet"}],
    ids=str,
)
def test_rules_that_are_none_do_not_start(launch: Launch, setting: dict[str, str]) -> None:
    sidecar = launch({**NO_VECTORS, **setting}, start=False)
    with pytest.raises(RuntimeError, match=r"conflicts\."):
        sidecar.start()
