"""A restore to a moment or to a revision: what was then is there, what came later is not, and erased stays erased."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    ConflictState,
    Fact,
    FailedPrecondition,
    Memory,
    Memsidecar,
    Message,
    NotFound,
    Role,
)

from memsidecar.domain.point_in_time import AtRevision, AtTime
from memsidecar.domain.revision import parse_revision
from memsidecar.domain.scope import Partition
from tests.e2e.backing_up import back_up, findings, restore
from tests.e2e.process import Launch
from tests.e2e.story import ALL, answers, tell, vector


def _known(client: Memsidecar, user: str) -> dict[str, tuple[str, object]]:
    listed = client.list_memories(ALL, user=user, page_size=1000)
    return {memory.name: (memory.text, memory.state) for memory in listed}


async def _watch(target: str, after: str) -> None:
    async with AsyncMemsidecar(target, user="ann") as client:
        with pytest.raises(FailedPrecondition) as refused:
            async with asyncio.timeout(10), client.watch_memories(after=after):
                pass
        assert refused.value.reason == "REVISION_UNKNOWN"


def test_a_moment_comes_back_for_every_user_and_what_was_purged_since_does_not(launch: Launch, tmp_path: Path) -> None:
    sidecar = launch()
    backup, data, request_id = tmp_path / "backup", tmp_path / "restored", str(uuid.uuid4())
    with Memsidecar(sidecar.target, user="ann") as ann, Memsidecar(sidecar.target, user="ben") as ben:
        tell(ann)
        tell(ben)
        # Two that contradict each other, so that a purge takes something out of a conflict.
        states = [state for state in ConflictState if state]
        for city in ("Rome", "Paris"):
            ben.remember(f"I live in {city}.", session="s1", embedding=vector(city))
        conflicts = [conflict.name for conflict in ben.conflicts(states=states)]
        assert conflicts
        told = {"ann": answers(ann)}
        before = _known(ben, "ben")
        moment = datetime.now(UTC)
        # What goes wrong: texts changed, deleted, purged, new users, new requests.
        later = ann.remember("I moved to Oslo.", session="s1", embedding=vector("oslo"), request_id=request_id)
        fact = next(memory for memory in told["ann"].memories if "head nurse" in memory.text)
        changed = Memory(Fact("Ben works as a pilot"), name=fact.name)
        ann.update_memory(changed, fields=["fact.statement"], embedding=vector("pilot"))
        ann.delete_memory(told["ann"].memories[0].name)
        for name, (text, _) in before.items():
            if "Rome" in text:
                # What was read from the text alone goes with it.
                with suppress(NotFound):
                    ben.delete_memory(name, purge=True)
        left = _known(ben, "ben")
        assert len(left) < len(before)
        ann.remember("A stranger", user="carl")
        ann.session("s").create()
        ann.session("s").append([Message(Role.USER, "said later")])
        manifest = back_up(sidecar.data_dir, backup)
        assert {each.user for each in manifest.partitions} == {"ann", "ben", "carl"}
        assert sidecar.stop() == 0
        done = restore(backup, data, AtTime(round(moment.timestamp() * 1_000_000)))
        assert {cut.partition.user for cut in done.cuts} == {"ann", "ben", "carl"}
        assert [len(cut.purged) for cut in done.cuts if cut.partition.user == "ben"] == [len(before) - len(left)]
        assert not done.sessions
        assert findings(data) == []
    restored = launch(data=data)
    with Memsidecar(restored.target, user="ann") as ann:
        # The text that was changed has lost the vectors of then, which nobody brings again here: words find it.
        now = answers(ann)
        assert now.memories == told["ann"].memories
        assert now.histories == told["ann"].histories
        assert [question for question, _ in now.recalls] == [question for question, _ in told["ann"].recalls]
        assert _known(ann, "carl") == {}
        assert _known(ann, "ben") == left
        assert [conflict.name for conflict in ann.conflicts(states=states, user="ben")] == conflicts
        # The request's events are gone, so it is a new one.
        again = ann.remember("I moved to Oslo.", session="s1", embedding=vector("oslo"), request_id=request_id)
        assert again.memories[0].name != later.memories[0].name
        assert not list(ann.list_sessions())
    assert restored.stop() == 0
    assert findings(data) == []
    assert b"Rome" not in (data / "ledger.db").read_bytes()


def test_one_users_memory_goes_back_to_a_revision_and_later_revisions_are_unknown(
    launch: Launch, tmp_path: Path
) -> None:
    sidecar = launch()
    backup, data = tmp_path / "backup", tmp_path / "restored"
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client)
        with Memsidecar(sidecar.target, user="ben") as ben:
            tell(ben)
        kept = client.remember(Fact("This stays"), embedding=vector("stays"))
        there = _known(client, "ann")
        gone = [client.remember(Fact(f"This goes {n}"), embedding=vector("goes")) for n in range(3)]
        others = _known(client, "ben")
    back_up(sidecar.data_dir, backup)
    assert sidecar.stop() == 0
    ann = Partition("default", "ann")
    revision = parse_revision(kept.revision, ann)
    assert revision is not None
    restore(backup, data, AtRevision(ann, *revision))
    restored = launch(data=data)
    with Memsidecar(restored.target, user="ann", timeout=10) as client:
        assert _known(client, "ann") == there
        assert _known(client, "ben") == others
        # A read, a stream and a watch that go on from before the restore are told so at once, however much has been
        # written since.
        again = [client.remember(Fact(f"This is new {n}"), embedding=vector("new")) for n in range(9)]
        assert client.recall("What stays?", min_revision=again[-1].revision).hits
        for old in (kept, gone[-1]):
            with pytest.raises(FailedPrecondition) as refused:
                client.recall("What goes?", min_revision=old.revision)
            assert refused.value.reason == "REVISION_UNKNOWN"
        stream = client.recall_stream("What goes?", min_revision=gone[-1].revision)
        with pytest.raises(FailedPrecondition) as refused, stream as events:
            list(events)
        assert refused.value.reason == "REVISION_UNKNOWN"
        asyncio.run(_watch(restored.target, gone[-1].revision))
    assert restored.stop() == 0
    assert findings(data) == []
