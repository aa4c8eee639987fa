"""Pages, the past, profiles and the running session, through the real process."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from memsidecar_client import AsyncMemsidecar, Fact, FeedbackKind, InvalidArgument, Item, Memory, Message, Role

from tests.e2e.process import Launch

USE = {"embedding.provider": "use", "embedding.model": "", "embedding.dimensions": "0"}


async def test_a_question_can_ask_for_pages_the_past_and_the_session(launch: Launch) -> None:
    sidecar = launch(USE)
    async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
        await client.ready(30)
        await client.remember_many([Item(f"green tea number {n} is from Kyoto") for n in range(12)])
        seen, token = [], ""
        while True:
            page = await client.recall("green tea", max_hits=5, page_token=token)
            seen += [hit.memory.name for hit in page.hits]
            token = page.next_page_token
            if not token:
                break
        assert len(seen) == len(set(seen)) == 12
        with pytest.raises(InvalidArgument) as refused:
            await client.recall("another question", max_hits=5, page_token=(await _token(client)))
        assert refused.value.violations[0].field == "options.page_token"

        before = datetime.now(UTC)
        await asyncio.sleep(0.01)
        await client.remember("The office has moved to Alfama.")
        assert not any("Alfama" in hit.text for hit in (await client.recall("Alfama office", known_at=before)).hits)
        assert "Alfama" in (await client.recall("Alfama office")).hits[0].text

        talk = client.session("talk")
        await talk.create()
        await talk.append([Message(Role.USER, "Tell me about the office in Alfama.")])
        answer = await client.recall("and where was it?", conversation=await talk.get(), explain=True)
        assert answer.analysis is not None
        assert "Alfama" in answer.analysis.rewritten_text
        answer = await client.recall("What about the office?", conversation=await talk.get())
        assert [hit.message.text for hit in answer.messages] == ["Tell me about the office in Alfama."]


async def test_feedback_and_weights_move_an_answer_and_say_so(launch: Launch) -> None:
    sidecar = launch(USE)
    async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
        await client.ready(30)
        now = datetime.now(UTC)
        old = await client.create_memory(
            Memory(Fact("green tea in the morning"), valid_start_time=now - timedelta(days=300))
        )
        new = await client.create_memory(Memory(Fact("green tea in the evening"), valid_start_time=now))
        first = [hit.memory.name for hit in (await client.recall("green tea")).hits]
        await client.feedback({first[1]: FeedbackKind.USED, first[0]: FeedbackKind.WRONG})
        moved = await client.recall("green tea", explain=True)
        assert [hit.memory.name for hit in moved.hits] == first[::-1]
        explanation = moved.hits[0].explanation
        assert explanation is not None
        assert any(part.signal == "usefulness" for part in explanation.components)
        fresh = await client.recall("green tea", weights={"freshness": 0.9, "usefulness": 0.0})
        assert fresh.hits[0].memory.name == new.memory.name
        assert {old.memory.name, new.memory.name} == set(first)
        with pytest.raises(InvalidArgument) as refused:
            await client.recall("green tea", weights={"nonsense": 1.0})
        assert refused.value.violations[0].field == "options.weights"


async def _token(client: AsyncMemsidecar) -> str:
    return (await client.recall("green tea", max_hits=5)).next_page_token
