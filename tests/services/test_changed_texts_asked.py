"""A corrected text that a model has read: it reads it again, and until then what stands in the text unchanged holds."""

from __future__ import annotations

import pytest

from memsidecar.domain.claims import Claim, Span
from memsidecar.domain.draft import Draft, Outcome, Patch, Request
from memsidecar.domain.memory import Episode, Fact, Kind, Memory, Provenance, State
from memsidecar.ports.extraction import Declined as Reason
from memsidecar.ports.extraction import Extracted, Turn
from memsidecar.services.remember import Wait
from tests.doubles.scripted_extractor import ScriptedExtractor
from tests.services.stack import ANN, Stack
from tests.session_servers import until

WHO = ANN.partition
PHRASES = ("my heart has been set on the tuba", "nothing but rye bread for me", "the oboe it shall be")


def reads(turn: Turn) -> Extracted:
    """A claim for each phrase that stands in the text."""
    found = ((phrase, turn.text.find(phrase)) for phrase in PHRASES)
    claims = [
        Claim(Kind.FACT, "likes_most", phrase.split()[-1], phrase, Span(at, at + len(phrase)), importance=0.8)
        for phrase, at in found
        if at >= 0
    ]
    return Extracted(tuple(claims))


@pytest.fixture
def extractor() -> ScriptedExtractor:
    return ScriptedExtractor(reads)


@pytest.fixture
async def asking(stack: Stack, extractor: ScriptedExtractor) -> Stack:
    stack.learn(extractor)
    return stack


async def idle(stack: Stack) -> None:
    async def ended() -> bool:
        jobs = await stack.jobs.list(WHO, (), None, 100)
        return all(job.done + job.failed == job.total for job in jobs)

    await until(ended)


async def tell(stack: Stack, text: str) -> Memory:
    draft = Draft(Episode(text), session="s", source=Provenance(session="s"))
    answer = await stack.remembering(ANN, [draft], Wait.SEARCHABLE, Request())
    await idle(stack)
    (outcome,) = answer.outcomes
    assert isinstance(outcome, Outcome)
    return outcome.memory


async def correct(stack: Stack, turn: Memory, text: str, request: str = "") -> None:
    stack.clock.time += 1_000_000
    await stack.memories.update(WHO, turn.id, Patch({"text": text}), Request(request, b"d"))


async def facts(stack: Stack) -> list[Memory]:
    resident = (await stack.residency.get(WHO)).resident
    names = [name for name in resident.lookup.rows if (m := resident.memory(name)) and m.state is not State.DELETED]
    found = [resident.memory(name) for name in names]
    return [memory for memory in found if memory is not None and isinstance(memory.body, Fact)]


async def texts(stack: Stack) -> list[str]:
    return sorted(memory.text for memory in await facts(stack))


async def test_a_model_reads_a_corrected_text_by_a_job(asking: Stack, extractor: ScriptedExtractor) -> None:
    turn = await tell(asking, f"Well, {PHRASES[0]}, and {PHRASES[1]}.")
    (bread,) = [memory for memory in await facts(asking) if memory.text == PHRASES[1]]
    extractor.gate.clear()
    await correct(asking, turn, f"Well, {PHRASES[2]}, and as I said {PHRASES[1]}.")
    # The model has not answered yet: what stands in the text unchanged holds.
    assert await texts(asking) == [PHRASES[1]]
    extractor.gate.set()
    await idle(asking)
    assert await texts(asking) == sorted(PHRASES[1:])
    (kept,) = [memory for memory in await facts(asking) if memory.text == PHRASES[1]]
    assert kept.id == bread.id
    assert len(extractor.calls) == 2


async def test_what_the_model_does_not_read_any_more_goes(asking: Stack, extractor: ScriptedExtractor) -> None:
    turn = await tell(asking, f"Well, {PHRASES[0]}.")
    extractor.reads = lambda turn: Extracted()
    await correct(asking, turn, f"It is not so that {PHRASES[0]}.")
    await idle(asking)
    assert await texts(asking) == []


async def test_a_model_that_fails_takes_nothing(asking: Stack, extractor: ScriptedExtractor) -> None:
    turn = await tell(asking, f"Well, {PHRASES[0]}.")
    extractor.reads = lambda turn: Extracted((), (Reason.REFUSED,))
    await correct(asking, turn, f"I can tell you that {PHRASES[0]}.")
    await idle(asking)
    assert await texts(asking) == [PHRASES[0]]


async def test_a_repeated_correction_is_one_job(asking: Stack, extractor: ScriptedExtractor) -> None:
    turn = await tell(asking, f"Well, {PHRASES[0]}.")
    for _ in range(2):
        await correct(asking, turn, f"Well, {PHRASES[1]}.", request="r")
    await idle(asking)
    assert len(await asking.jobs.list(WHO, (), None, 100)) == 2
    assert await texts(asking) == [PHRASES[1]]
