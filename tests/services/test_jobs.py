"""Texts that a model reads: durable, each once, and nothing comes of what is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memsidecar.domain.draft import Declined, Draft, Outcome, Request
from memsidecar.domain.errors import ModelUnavailable, NotFound, StoreUnavailable
from memsidecar.domain.job import Job, JobState
from memsidecar.domain.memory import Episode, Fact, Provenance
from memsidecar.ports.extraction import Declined as Reason
from memsidecar.ports.extraction import Extracted, Turn
from memsidecar.services.remember import Remembered, Wait
from tests.doubles.scripted_extractor import ScriptedExtractor, claims
from tests.services.stack import ANN, BEN, Stack
from tests.session_servers import until

WHO = ANN.partition
TEXT = "Well, my heart has been set on the tuba for ages."
AWAY = ModelUnavailable("scripted/1", "does not answer")


def tuba(turn: Turn) -> Extracted:
    return claims(("instrument", "tuba")) if "tuba" in turn.text else Extracted()


@pytest.fixture
def extractor() -> ScriptedExtractor:
    return ScriptedExtractor(tuba)


@pytest.fixture
async def asking(stack: Stack, extractor: ScriptedExtractor) -> Stack:
    stack.learn(extractor)
    return stack


async def told(stack: Stack, *texts: str, request: str = "", speaker: str = "") -> Remembered:
    drafts = [Draft(Episode(text, speaker=speaker), session="s", source=Provenance(session="s")) for text in texts]
    return await stack.remembering(ANN, drafts, Wait.SEARCHABLE, Request(request, b"d"))


async def ended(stack: Stack, job: str) -> Job:
    last = None
    async for seen in stack.jobs.watch(WHO, job):
        last = seen
    assert last is not None
    return last


def ids(answer: Remembered) -> list[str]:
    return [outcome.memory.id for outcome in answer.outcomes if isinstance(outcome, Outcome)]


async def facts(stack: Stack) -> list[str]:
    return [text for text in await stack.texts(ANN) if text.startswith("instrument")]


async def test_what_a_model_finds_is_remembered_by_a_job(asking: Stack) -> None:
    answer = await told(asking, TEXT)
    assert not answer.stages.extracted
    job = await ended(asking, answer.stages.job)
    assert (job.state, job.total, job.done, job.failed) == (JobState.SUCCEEDED, 1, 1, 0)
    (result,) = job.results
    (outcome,) = result.outcomes
    assert isinstance(outcome, Outcome)
    assert outcome.memory.body == Fact("instrument is tuba", predicate="instrument", object_text="tuba")
    (source,) = outcome.memory.provenance
    assert source.derived_from == tuple(ids(answer))
    assert source.extractor == "scripted/1"


@pytest.mark.parametrize("text", ["Thanks a lot!", "ok", "你好", "What is the capital of France?"])
async def test_a_model_is_not_asked_about_what_says_nothing(
    asking: Stack, extractor: ScriptedExtractor, text: str
) -> None:
    answer = await told(asking, text)
    assert answer.stages.extracted
    assert answer.stages.job == ""
    assert await asking.jobs.list(WHO, (), None, 10) == []


async def test_nor_about_what_the_assistant_says(asking: Stack) -> None:
    assert (await told(asking, TEXT, speaker="assistant")).stages.extracted


async def test_what_rules_find_is_there_at_once(asking: Stack, extractor: ScriptedExtractor) -> None:
    extractor.gate.clear()
    answer = await told(asking, "I live in Oslo.")
    (outcome,) = answer.outcomes
    assert isinstance(outcome, Outcome)
    assert len(outcome.extracted) == 1
    assert not answer.stages.extracted


async def test_what_the_rules_have_read_is_not_read_again(asking: Stack, extractor: ScriptedExtractor) -> None:
    extractor.reads = lambda turn: claims(("lives_in", "Oslo, Norway"), ("instrument", "tuba"))
    answer = await told(asking, "I live in Oslo.")
    job = await ended(asking, answer.stages.job)
    first, second = job.results[0].outcomes
    assert isinstance(first, Declined)
    assert isinstance(second, Outcome)
    homes = [t for t in await asking.texts(ANN) if "Oslo" in t]
    assert sorted(homes) == ["I live in Oslo", "I live in Oslo."]


async def test_a_model_that_is_away_is_waited_for(asking: Stack, extractor: ScriptedExtractor) -> None:
    extractor.failure = AWAY
    answer = await told(asking, TEXT)

    async def waits() -> bool:
        return (await asking.jobs.get(WHO, answer.stages.job)).state is JobState.WAITING

    await until(waits)
    job = await asking.jobs.get(WHO, answer.stages.job)
    if job.state is JobState.WAITING:
        assert "does not answer" in job.message
        assert job.next_attempt_at is not None
    extractor.failure = None
    assert (await ended(asking, answer.stages.job)).state is JobState.SUCCEEDED
    assert await facts(asking) == ["instrument is tuba"]


async def test_the_next_process_goes_on_where_this_one_stopped(tmp_path: Path, stack: Stack) -> None:
    extractor = ScriptedExtractor(tuba)
    extractor.gate.clear()
    stack.learn(extractor)
    answer = await told(stack, TEXT)
    await extractor.asked.wait()
    again = await stack.again()
    assert await facts(again) == []
    assert (await again.jobs.get(WHO, answer.stages.job)).state is JobState.WAITING
    again.learn(ScriptedExtractor(tuba))
    assert (await ended(again, answer.stages.job)).state is JobState.SUCCEEDED
    assert await facts(again) == ["instrument is tuba"]
    await again.close()


async def test_a_job_is_as_durable_as_its_text(asking: Stack, extractor: ScriptedExtractor) -> None:
    extractor.gate.clear()
    asking.ledger.failure = ModelUnavailable("disk", "is full")
    with pytest.raises(ModelUnavailable):
        await told(asking, TEXT)
    asking.ledger.failure = None
    assert await asking.texts(ANN) == []
    assert await asking.jobs.list(WHO, (), None, 10) == []
    await told(asking, TEXT)
    assert len(await asking.jobs.list(WHO, (), None, 10)) == 1
    assert asking.ledger.appends[-1].jobs


async def test_a_repeated_request_is_one_job(asking: Stack, extractor: ScriptedExtractor) -> None:
    extractor.gate.clear()
    request = "11111111-1111-4111-8111-111111111111"
    first, again = await told(asking, TEXT, request=request), await told(asking, TEXT, request=request)
    assert first.stages == again.stages
    (job,) = await asking.jobs.list(WHO, (), None, 10)
    assert job.total == 1


async def test_a_ledger_that_is_away_is_waited_for(asking: Stack, extractor: ScriptedExtractor) -> None:
    extractor.gate.clear()
    answer = await told(asking, TEXT)
    await extractor.asked.wait()
    asking.ledger.failure = StoreUnavailable("the ledger", "is away")
    extractor.gate.set()

    async def tried_again() -> bool:
        return len(extractor.calls) > 1

    await until(tried_again)
    asking.ledger.failure = None
    assert (await ended(asking, answer.stages.job)).state is JobState.SUCCEEDED
    assert await facts(asking) == ["instrument is tuba"]


@pytest.mark.parametrize("purge", [False, True])
async def test_a_text_deleted_before_it_is_read_leaves_no_ghost(
    asking: Stack, extractor: ScriptedExtractor, purge: bool
) -> None:
    extractor.failure = AWAY
    answer = await told(asking, TEXT)
    await asking.memories.delete(WHO, ids(answer)[0], "", purge, "", Request())
    extractor.failure = None
    job = await ended(asking, answer.stages.job)
    assert (job.done, job.failed) == (1, 0)
    assert "deleted" in job.results[0].problem
    assert await facts(asking) == []


@pytest.mark.parametrize("purge", [False, True])
async def test_an_answer_that_comes_after_the_text_was_deleted_is_dropped(
    asking: Stack, extractor: ScriptedExtractor, purge: bool
) -> None:
    extractor.gate.clear()
    answer = await told(asking, TEXT)
    await extractor.asked.wait()
    await asking.memories.delete(WHO, ids(answer)[0], "", purge, "", Request())
    extractor.gate.set()
    job = await ended(asking, answer.stages.job)
    assert job.results[0].outcomes == ()
    assert await facts(asking) == []


async def test_what_cannot_be_read_is_given_up_with_its_reason(asking: Stack, extractor: ScriptedExtractor) -> None:
    extractor.reads = lambda turn: Extracted(rejected=(Reason.UNREADABLE,)) if "bad" in turn.text else tuba(turn)
    answer = await told(asking, TEXT, "My day was bad, I can tell you.")
    job = await ended(asking, answer.stages.job)
    assert (job.state, job.done, job.failed) == (JobState.FAILED, 1, 1)
    assert [(r.index, r.failed, r.problem) for r in job.results] == [(0, False, ""), (1, True, "answer_unreadable")]
    assert job.message == "answer_unreadable"
    assert await facts(asking) == ["instrument is tuba"]
    assert sum(any("bad" in text for text in call) for call in extractor.calls) == 3


async def test_a_refusal_is_the_last_word(asking: Stack, extractor: ScriptedExtractor) -> None:
    extractor.reads = lambda turn: Extracted(rejected=(Reason.REFUSED,))
    job = await ended(asking, (await told(asking, TEXT)).stages.job)
    assert job.state is JobState.FAILED
    assert len(extractor.calls) == 1


async def test_a_mistake_in_the_extractor_stops_nobody_else(asking: Stack, extractor: ScriptedExtractor) -> None:
    def reads(turn: Turn) -> Extracted:
        if "bad" in turn.text:
            raise RuntimeError("a mistake")
        return tuba(turn)

    extractor.reads = reads
    answer = await told(asking, "My day was bad, I can tell you.", TEXT)
    job = await ended(asking, answer.stages.job)
    assert (job.done, job.failed) == (1, 1)
    assert await facts(asking) == ["instrument is tuba"]
    later = await told(asking, "I also told them about my tuba.")
    assert (await ended(asking, later.stages.job)).state is JobState.SUCCEEDED


async def test_one_text_that_the_model_cannot_stand_holds_nobody_up(
    asking: Stack, extractor: ScriptedExtractor
) -> None:
    def reads(turn: Turn) -> Extracted:
        if "bad" in turn.text:
            raise AWAY
        return tuba(turn)

    extractor.reads = reads
    answer = await told(asking, "My day was bad, I can tell you.", TEXT)

    async def read() -> bool:
        return await facts(asking) == ["instrument is tuba"]

    await until(read)
    assert (await asking.jobs.get(WHO, answer.stages.job)).done == 1


async def test_a_cancelled_job_does_no_more(asking: Stack, extractor: ScriptedExtractor) -> None:
    extractor.failure = AWAY
    answer = await told(asking, TEXT)
    job = await asking.jobs.cancel(WHO, answer.stages.job)
    assert job.state is JobState.CANCELLED
    extractor.failure = None
    calls = len(extractor.calls)
    other = await told(asking, "Some of us like my tuba.")
    await ended(asking, other.stages.job)
    assert TEXT not in [text for call in extractor.calls[calls:] for text in call]
    assert (await asking.jobs.cancel(WHO, answer.stages.job)).state is JobState.CANCELLED


async def test_jobs_are_listed_newest_first_and_by_state(asking: Stack, extractor: ScriptedExtractor) -> None:
    first = (await told(asking, TEXT)).stages.job
    await ended(asking, first)
    extractor.gate.clear()
    second = (await told(asking, f"{TEXT} Another one, that is.")).stages.job
    listed = await asking.jobs.list(WHO, (), None, 10)
    assert {job.id for job in listed} == {first, second}
    assert [job.id for job in await asking.jobs.list(WHO, [JobState.SUCCEEDED], None, 10)] == [first]
    assert await asking.jobs.list(BEN.partition, (), None, 10) == []
    with pytest.raises(NotFound):
        await asking.jobs.get(BEN.partition, first)


async def test_turns_that_come_together_are_read_together(asking: Stack, extractor: ScriptedExtractor) -> None:
    texts = [f"I told you about my tuba number {n}." for n in range(8)]
    answer = await told(asking, *texts)
    await ended(asking, answer.stages.job)
    assert extractor.calls == [texts]


async def test_a_caller_who_goes_takes_nobody_along(asking: Stack) -> None:
    calls = [asyncio.create_task(told(asking, f"I told you about my tuba number {n}.")) for n in range(50)]
    await asyncio.sleep(0)
    calls[25].cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(answer, Remembered) for answer in answers) == 49
    for answer in answers:
        if isinstance(answer, Remembered):
            assert (await ended(asking, answer.stages.job)).state is JobState.SUCCEEDED
