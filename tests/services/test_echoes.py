"""A question that was asked before, and what a model answered then, are no evidence for the answer."""

from __future__ import annotations

import pytest

from memsidecar.domain.draft import Draft
from memsidecar.domain.exchange import transcript
from memsidecar.domain.memory import Episode
from memsidecar.domain.recall import Recalled
from memsidecar.domain.session import Role
from tests.services.stack import ANN, Stack, said

OWN = "Ana moved to Porto in May, near the river."
QUESTION, ANSWER = "Where does Ana live?", "Ana lives in Madrid, in the old town."


def kept(question: str = QUESTION, answer: str = ANSWER) -> Draft:
    return Draft(Episode(transcript([(Role.USER, question), (Role.ASSISTANT, answer)])), session="chat")


def texts(answer: Recalled) -> list[str]:
    return [hit.memory.text for hit in answer.hits]


def turns() -> tuple[Draft, Draft]:
    return said(QUESTION, "chat", "user"), said(ANSWER, "chat", "assistant")


@pytest.mark.parametrize("again", [(kept(),), turns()], ids=["one memory", "turns of a session"])
@pytest.mark.parametrize("question", [QUESTION, "Where does Ana live now?", "Tell me where Ana lives"])
async def test_the_users_words_stand_above_what_a_model_answered_to_the_same_question(
    stack: Stack, again: tuple[Draft, ...], question: str
) -> None:
    await stack.remember(ANN, said(OWN, "before", "user"), *again)
    answer = await stack.recall(ANN, question, explain=True)
    assert texts(answer)[0] == OWN
    assert len(answer.hits) == 1 + len(again)
    for hit in answer.hits:
        assert abs(sum(part.contribution for part in hit.components) - hit.score) < 1e-5
        assert ("echo" in {part.signal for part in hit.components}) is (hit.memory.text != OWN)


@pytest.mark.parametrize("question", ["What did you tell me about where Ana lives?", "Where did you say Ana lives?"])
async def test_asked_for_what_it_said_a_model_is_quoted(stack: Stack, question: str) -> None:
    await stack.remember(ANN, said(OWN, "before", "user"), kept())
    answer = await stack.recall(ANN, question, explain=True)
    assert texts(answer)[0].endswith(ANSWER)
    assert "echo" not in {part.signal for hit in answer.hits for part in hit.components}


async def test_asking_again_makes_an_answer_no_surer(stack: Stack) -> None:
    await stack.remember(ANN, said(OWN, "before", "user"))
    before = (await stack.recall(ANN, QUESTION)).confidence
    await stack.remember(ANN, kept())
    assert (await stack.recall(ANN, QUESTION)).confidence <= before + 1e-6


async def test_what_the_user_says_in_an_exchange_is_found(stack: Stack) -> None:
    told = kept("The key of the cabin is under the pot.", "Good to know!")
    await stack.remember(ANN, told, *(said(f"On day {n} it rained.", "t") for n in range(5)))
    assert isinstance(told.body, Episode)
    assert texts(await stack.recall(ANN, "Where is the key of the cabin?"))[0] == told.body.text


async def test_between_people_an_answer_is_evidence(stack: Stack) -> None:
    await stack.remember(ANN, said(QUESTION, "talk", "Bob"), said(ANSWER, "talk", "Cleo"))
    answer = await stack.recall(ANN, QUESTION, explain=True)
    assert "echo" not in {part.signal for hit in answer.hits for part in hit.components}
