"""The same question has the same answer after a restart, whatever was changed before."""

from __future__ import annotations

import shutil

from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.memory import Entity, Fact
from memsidecar.domain.recall import Recalled, Tier
from tests.services.stack import ANN, Stack, stored

WHO = ANN.partition
NO = Request()


async def replayed(stack: Stack) -> Stack:
    """The process after a restart that found no snapshot: its memory is the ledger's, entry by entry."""
    await stack.close()
    shutil.rmtree(stack.directory / "resident", ignore_errors=True)
    return await Stack.open(stack.directory, stack.embedder, clock=stack.clock, ids=stack.ids)


def told(answer: Recalled) -> list[tuple[str, float]]:
    return [(hit.memory.id, hit.score) for hit in answer.hits]


async def test_a_memory_that_was_changed_is_no_younger_than_it_was(stack: Stack) -> None:
    (zed,) = stored(await stack.remember(ANN, Draft(Entity("Zed"))))
    facts = [Draft(Fact(f"note{n} is apple{n}"), mentions=(zed.id,)) for n in range(28)]
    memories = stored(await stack.remember(ANN, *facts))
    await stack.memories.update(WHO, memories[1].id, Patch({"statement": "note1 is pear", "mentions": (zed.id,)}), NO)
    questions = {"apple27": frozenset({Tier.KEYWORD, Tier.GRAPH}), "what is new?": frozenset({Tier.RECENCY})}
    before = [told(await stack.recall(ANN, text, tiers=tiers, max_hits=50)) for text, tiers in questions.items()]
    again = await replayed(stack)
    after = [told(await again.recall(ANN, text, tiers=tiers, max_hits=50)) for text, tiers in questions.items()]
    await again.close()
    assert [answer[0] for answer in before if answer]
    assert after == before
