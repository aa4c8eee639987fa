from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from memsidecar.domain.draft import Draft, Outcome
from memsidecar.domain.errors import DimensionMismatch, ModelUnavailable
from memsidecar.domain.events import Matrix, Vectors
from memsidecar.domain.memory import Body, Episode, Fact
from memsidecar.domain.recall import Tier
from memsidecar.services import preparing as module
from memsidecar.services import turn
from memsidecar.services.patience import expect_answer_within
from memsidecar.services.preparing import Prepared, Space, TextRefused
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import ANN, Stack

FILLER = "The weather report said nothing of interest, and the meeting went on for hours. "
FACT = "The spare key lies under the blue flowerpot behind the greenhouse."


async def test_the_last_paragraph_of_a_long_document_is_found_by_meaning_and_by_words(stack: Stack) -> None:
    document = FILLER * 1_100 + "\n\n" + FACT
    assert len(document) > 88_000
    await stack.remember(ANN, Draft(Episode(document)), *(f"Note {n} about the garden" for n in range(30)))
    for tier in (Tier.VECTOR, Tier.KEYWORD):
        answer = await stack.recall(ANN, "spare key under the blue flowerpot", tiers=frozenset({tier}))
        found = [hit.memory.text for hit in answer.hits]
        assert found.count(document) == 1
        if tier is Tier.VECTOR:
            assert found[0] == document


async def test_a_slow_embedder_leaves_the_vectors_due(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stack.embedder is not None
    monkeypatch.setattr(module, "SECONDS_A_TEXT", 0.0)
    stack.space._timeout = 0.01

    async def hangs(_: Sequence[str]) -> Matrix:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(stack.embedder, "embed", hangs)
    (outcome,) = (await stack.remember(ANN, "found by words")).outcomes
    assert isinstance(outcome, Outcome)
    assert outcome.embedding_pending
    assert await stack.texts(ANN) == ["found by words"]


async def test_vectors_that_its_caller_would_not_wait_for_are_left_due(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stack.embedder is not None
    assert stack.space._timeout > 1

    async def hangs(_: Sequence[str]) -> Matrix:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(stack.embedder, "embed", hangs)
    expect_answer_within(0.02)
    (outcome,) = (await stack.remember(ANN, "found by words")).outcomes
    assert isinstance(outcome, Outcome)
    assert outcome.embedding_pending


@pytest.mark.parametrize(
    "given", [Vectors("", np.ones((1, 3), np.float32)), Vectors("x", np.ones((1, 64), np.float32))]
)
async def test_a_callers_vectors_must_fit(stack: Stack, given: Vectors) -> None:
    with pytest.raises(DimensionMismatch):
        await stack.remember(ANN, "fine", Draft(Fact("not fine"), embedding=given))
    assert await stack.texts(ANN) == []


async def test_a_callers_vectors_are_taken_as_they_are(stack: Stack) -> None:
    assert stack.embedder is not None
    rows = await stack.embedder.embed(["something else"])
    stack.embedder.calls.clear()
    await stack.remember(ANN, Draft(Fact("words"), embedding=Vectors("", rows)))
    assert stack.embedder.calls == []
    answer = await stack.recall(ANN, "something else", tiers=frozenset({Tier.VECTOR}))
    assert answer.hits[0].memory.text == "words"


@pytest.mark.parametrize("text", ["🙂🙂", "...!?", "—", "的", " x "])
async def test_texts_without_words_are_stored_and_found_by_meaning(stack: Stack, text: str) -> None:
    await stack.remember(ANN, text, "other")
    answer = await stack.recall(ANN, text, tiers=frozenset({Tier.VECTOR}), max_hits=1)
    assert answer.hits[0].memory.text == text


async def test_the_refused_text_is_told_by_its_body(embedder: HashEmbedder) -> None:
    real = embedder.embed

    async def refuses(texts: Sequence[str]) -> Matrix:
        for position, text in enumerate(texts):
            if "poison" in text:
                error = ModelUnavailable("hash")
                error.metadata = {"position": str(position)}
                raise error
        return await real(texts)

    embedder.embed = refuses  # type: ignore[method-assign]
    space = Space(embedder.model, embedder.dimensions, embedder, 5.0)
    bodies = [Fact(FILLER * 40), Fact(FILLER * 400), Fact(FILLER * 10 + "poison"), Fact("short")]
    with pytest.raises(TextRefused) as caught:
        await space.embed_bodies(bodies)
    assert caught.value.position == 2


async def test_nothing_is_embedded_for_no_bodies(embedder: HashEmbedder) -> None:
    assert await Space(embedder.model, 64, embedder, 5.0).embed_bodies([]) == []


async def test_every_text_of_a_batch_may_be_the_last_before_others_have_a_turn(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "SLICE", 0.0)
    read: list[str] = []
    seen: set[int] = set()
    actual = module._read

    def counted(body: Body, text: str, agent: str) -> Prepared:
        read.append(text)
        return actual(body, text, agent)

    async def watch() -> None:
        while len(read) < 6:
            seen.add(len(read))
            await asyncio.sleep(0)

    monkeypatch.setattr(module, "_read", counted)
    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await stack.preparing([Draft(Episode(f"text {n}")) for n in range(6)], embed=False)
    await watching
    assert seen == set(range(6))


async def test_long_text_is_read_off_the_loop_and_sooner_in_scripts_without_spaces(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    actual = module._read

    def read(body: Body, text: str, agent: str) -> Prepared:
        threads.append(threading.get_ident())
        return actual(body, text, agent)

    monkeypatch.setattr(module, "_read", read)
    for text in ("word " * 600, "word " * 900, "今天天气很好" * 100, "今天天气很好" * 200):
        await stack.preparing.read(Episode(text), "")
    assert [thread == threading.get_ident() for thread in threads] == [True, False, True, False]
