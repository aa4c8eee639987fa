"""Feedback moves what it is about, within its own partition, and nothing else."""

from __future__ import annotations

import pytest

from memsidecar.domain.draft import Patch, Request
from memsidecar.domain.errors import InvalidField, RequestIdReused
from memsidecar.domain.events import MemoryPurged, MemoryRecorded
from memsidecar.domain.feedback import NO_FEEDBACK, Feedback, Verdict
from memsidecar.domain.feedback_rules import Judged
from memsidecar.domain.recall import Recalled
from memsidecar.domain.scope import Scope
from tests.services.stack import ANN, BEN, TEAM, Stack, stored

WHO = ANN.partition


async def judge(stack: Stack, scope: Scope, memory_id: str, *verdicts: Verdict) -> None:
    for verdict in verdicts:
        await stack.judging(scope, [Judged(memory_id, verdict, "items[0].memory")], Request())


def scores(answer: Recalled) -> dict[tuple[str, str], float]:
    return {(hit.partition.name, hit.memory.text): hit.score for hit in answer.hits}


async def counts(stack: Stack, scope: Scope, memory_id: str) -> Feedback:
    return (await stack.residency.view(scope.partition)).feedback(memory_id)


async def test_of_two_equal_memories_the_useful_one_comes_first_and_says_why(stack: Stack) -> None:
    green, black = stored(await stack.remember(ANN, "drinks tea that is green", "drinks tea that is black"))
    before = [hit.memory.id for hit in (await stack.recall(ANN, "tea")).hits]
    await judge(stack, ANN, before[1], Verdict.USED, Verdict.USED, Verdict.USED)
    answer = await stack.recall(ANN, "tea", explain=True)
    assert [hit.memory.id for hit in answer.hits] == before[::-1]
    component = next(c for c in answer.hits[0].components if c.signal == "usefulness")
    assert component.contribution > 0
    assert sum(c.contribution for c in answer.hits[0].components) == pytest.approx(answer.hits[0].score, abs=1e-3)
    assert {green.id, black.id} == set(before)


async def test_feedback_on_one_users_memories_moves_no_other_users_and_not_the_teams(stack: Stack) -> None:
    """The same content everywhere, even under the same id."""
    for scope in (ANN, BEN, TEAM):
        await stack.remember(scope, "drinks green tea", "plays chess")
    before = {scope: scores(await stack.recall(scope, "green tea")) for scope in (ANN, BEN, TEAM)}
    (mine,) = [h.memory for h in (await stack.recall(ANN, "green tea", max_hits=1)).hits]
    await judge(stack, ANN, mine.id, *[Verdict.WRONG] * 20)
    after = {scope: scores(await stack.recall(scope, "green tea")) for scope in (ANN, BEN, TEAM)}
    assert after[BEN] == before[BEN]
    assert after[TEAM] == before[TEAM]
    moved = {key for key in before[ANN] if after[ANN][key] != before[ANN][key]}
    assert moved == {(WHO.name, "drinks green tea")}


async def test_feedback_in_the_shared_partition_moves_shared_memories_only(stack: Stack) -> None:
    for scope, text in ((ANN, "drinks green tea"), (BEN, "drinks green tea"), (TEAM, "green tea is in the kitchen")):
        await stack.remember(scope, text)
    before = {scope: scores(await stack.recall(scope, "green tea", include_shared=True)) for scope in (ANN, BEN)}
    (shared,) = [h.memory for h in (await stack.recall(TEAM, "green tea")).hits]
    await judge(stack, TEAM, shared.id, *[Verdict.WRONG] * 20)
    for scope in (ANN, BEN):
        after = scores(await stack.recall(scope, "green tea", include_shared=True))
        moved = {key for key in after if after[key] != before[scope][key]}
        assert moved == {(TEAM.partition.name, "green tea is in the kitchen")}


async def test_another_partitions_memory_is_not_found(stack: Stack) -> None:
    (hers,) = stored(await stack.remember(BEN, "drinks green tea"))
    await stack.remember(ANN, "plays chess")
    for scope in (ANN, TEAM):
        with pytest.raises(InvalidField, match=r"items\[0\]\.memory"):
            await judge(stack, scope, hers.id, Verdict.WRONG)
    assert await counts(stack, BEN, hers.id) == NO_FEEDBACK


async def test_a_repeated_request_counts_once(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks green tea"))
    judged = [Judged(memory.id, Verdict.USED, "items[0].memory")]
    request = Request("11111111-1111-1111-1111-111111111111", b"digest")
    first = await stack.judging(ANN, judged, request)
    await stack.remember(ANN, "plays chess")
    assert await stack.judging(ANN, judged, request) == first
    assert await counts(stack, ANN, memory.id) == Feedback(used=1)
    with pytest.raises(RequestIdReused):
        await stack.judging(ANN, judged, Request(request.request_id, b"another"))


async def test_a_memory_keeps_etag_and_history_under_feedback(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks green tea"))
    await judge(stack, ANN, memory.id, *[Verdict.USED] * 5)
    assert await stack.memories.get(WHO, memory.id) == memory
    await stack.memories.update(WHO, memory.id, Patch({"importance": 0.9}, etag="1"), Request())
    await judge(stack, ANN, memory.id, *[Verdict.IGNORED] * 5)
    history = await stack.memories.history(WHO, memory.id, None, 10)
    assert [type(entry.event) for entry in history] == [MemoryRecorded, MemoryRecorded]
    # A page that holds only feedback is passed over.
    (newest,) = await stack.memories.history(WHO, memory.id, None, 1)
    (oldest,) = await stack.memories.history(WHO, memory.id, newest.revision, 1)
    assert isinstance(oldest.event, MemoryRecorded)
    assert oldest.event.memory.version == 1


async def test_verdicts_are_about_the_text_they_were_given_on(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "lives in Lisbon"))
    await judge(stack, ANN, memory.id, Verdict.WRONG)
    await stack.memories.update(WHO, memory.id, Patch({"importance": 0.9}), Request())
    assert await counts(stack, ANN, memory.id) == Feedback(wrong=1)
    await stack.memories.update(WHO, memory.id, Patch({"statement": "lives in Porto"}), Request())
    assert await counts(stack, ANN, memory.id) == NO_FEEDBACK


async def test_feedback_survives_a_restart_with_a_snapshot_and_without(stack: Stack) -> None:
    first, second = stored(await stack.remember(ANN, "drinks green tea", "plays chess"))
    await judge(stack, ANN, first.id, Verdict.USED, Verdict.WRONG)
    again = await stack.again()
    assert await counts(again, ANN, first.id) == Feedback(used=1, wrong=1)
    assert await again.hydration.save((await again.residency.get(WHO)).resident)
    await judge(again, ANN, second.id, Verdict.IGNORED)
    third = await again.again()
    assert await counts(third, ANN, first.id) == Feedback(used=1, wrong=1)
    assert await counts(third, ANN, second.id) == Feedback(ignored=1)
    assert third.usages.of(WHO, first.id).usefulness == pytest.approx(Feedback(used=1, wrong=1).usefulness)
    assert await third.real_ledger.verify(WHO) == []
    await third.close()


async def test_a_purge_erases_the_verdicts(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks green tea"))
    await judge(stack, ANN, memory.id, Verdict.USED)
    await stack.memories.delete(WHO, memory.id, "", True, "", Request())
    assert await counts(stack, ANN, memory.id) == NO_FEEDBACK
    entries = await stack.real_ledger.history(WHO, memory.id, 2**62, 10)
    assert [type(entry.event) for entry in entries] == [MemoryPurged, type(None), type(None)]
    assert await stack.real_ledger.verify(WHO) == []


async def test_a_deleted_memory_may_be_judged_and_keeps_its_verdicts(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks green tea"))
    await stack.memories.delete(WHO, memory.id, "", False, "", Request())
    await judge(stack, ANN, memory.id, Verdict.USED)
    await stack.memories.undelete(WHO, memory.id, Request())
    assert await counts(stack, ANN, memory.id) == Feedback(used=1)
