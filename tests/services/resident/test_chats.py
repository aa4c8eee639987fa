from __future__ import annotations

import pytest

from memsidecar.domain.draft import Request
from memsidecar.services.resident import Chat
from tests.services.stack import ANN, Stack, said, stored


async def kind(stack: Stack, session: str) -> int:
    resident = (await stack.residency.get(ANN.partition)).resident
    number = resident.columns.sessions.find(session)
    kinds = resident.chat_kinds()
    return int(kinds[number]) if number is not None and number < len(kinds) else Chat.NOTES


@pytest.mark.parametrize(
    ("speakers", "chat"),
    [
        (["user", "assistant"], Chat.ASSISTED),
        (["Ann", "Bob", "assistant"], Chat.ASSISTED),
        (["Ann", "Bob"], Chat.DIALOGUE),
        (["user", "Bob", "Bob"], Chat.DIALOGUE),
        (["user", "user"], Chat.NOTES),
        (["", "Ann", ""], Chat.NOTES),
    ],
)
async def test_who_speaks_says_what_kind_of_talk_it_is(stack: Stack, speakers: list[str], chat: Chat) -> None:
    await stack.remember(ANN, *(said(f"turn {n}", speaker=who) for n, who in enumerate(speakers)), "no session")
    assert await kind(stack, "s") == chat
    again = await stack.again()
    try:
        assert await kind(again, "s") == chat
        await again.remember(ANN, said("more", speaker="tool"))
        assert await kind(again, "s") == Chat.ASSISTED
    finally:
        await again.close()


async def test_a_talk_is_what_is_left_of_it(stack: Stack) -> None:
    answer = await stack.remember(
        ANN, said("Hello"), said("Hi", speaker="Bob"), said("Yes?", speaker="assistant"), said("x", "t")
    )
    for memory, chat in zip(stored(answer)[2:0:-1], (Chat.DIALOGUE, Chat.NOTES), strict=True):
        await stack.memories.delete(ANN.partition, memory.id, "", True, "", Request())
        assert await kind(stack, "s") == chat
    await stack.remember(ANN, said("Me again", speaker="Cid"))
    assert await kind(stack, "s") == Chat.DIALOGUE
