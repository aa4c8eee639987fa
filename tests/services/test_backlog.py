from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix
from memsidecar.domain.memory import Fact
from memsidecar.domain.scope import Scope
from memsidecar.services import backlog as module
from memsidecar.services.remember import Wait
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import ANN, Stack, stored
from tests.session_servers import until

WHO = ANN.partition
DOWN = ModelUnavailable("hash")


class Choosy(HashEmbedder):
    """Does not take texts with "poison" in them; says which one when `names` is set."""

    def __init__(self, names: bool) -> None:
        super().__init__()
        self._names = names

    async def embed(self, texts: Sequence[str]) -> Matrix:
        for position, text in enumerate(texts):
            if "poison" in text:
                self.calls.append(list(texts))
                error = ModelUnavailable(self.model, "refuses it")
                if self._names:
                    error.metadata = {**error.metadata, "position": str(position)}
                raise error
        return await super().embed(texts)


@pytest.fixture(autouse=True)
def short_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_RETRY", 0.01)
    monkeypatch.setattr(module, "LAST_RETRY", 0.02)


async def later(stack: Stack, scope: Scope, *texts: str) -> list[str]:
    answer = await stack.remembering(scope, [Draft(Fact(t)) for t in texts], Wait.DURABLE, Request())
    return [memory.id for memory in stored(answer)]


async def due(stack: Stack, scope: Scope = ANN) -> list[str]:
    return list((await stack.residency.get(scope.partition)).resident.due)


async def test_what_is_due_is_embedded_once_the_embedder_is_back(stack: Stack) -> None:
    assert stack.embedder is not None
    stack.embedder.failure = DOWN
    stack.backlog.start()
    answer = await stack.remember(ANN, *(f"number {n}" for n in range(100)))
    assert len(await due(stack)) == len(answer.outcomes) == 100
    await until(lambda: _true(len(stack.embedder.calls) > 4))  # type: ignore[union-attr]
    stack.embedder.failure = None
    await until(lambda: _none_due(stack))
    assert (await stack.residency.get(WHO)).resident.vectors.size == 100


async def test_while_the_embedder_is_away_it_is_asked_little(stack: Stack) -> None:
    assert stack.embedder is not None
    await later(stack, ANN, *(f"number {n}" for n in range(100)))
    stack.embedder.failure = DOWN
    with pytest.raises(ModelUnavailable):
        await stack.backlog._embed_some(WHO)
    assert len(stack.embedder.calls) == 3


@pytest.mark.parametrize("names", [True, False])
async def test_a_text_that_is_refused_holds_up_nobody_and_is_not_asked_for_again(stack: Stack, names: bool) -> None:
    choosy = Choosy(names)
    stack.space._embedder = choosy
    await later(stack, ANN, "poison one", *(f"number {n}" for n in range(40)), "poison two", "last one")
    stack.backlog.start()
    stack.backlog.notice(WHO)
    await until(lambda: _idle(stack))
    assert await due(stack) == ["m000001", "m000042"]
    calls = len(choosy.calls)
    stack.backlog.notice(WHO)
    await until(lambda: _idle(stack))
    assert len(choosy.calls) == calls
    # A new text is another chance.
    await stack.memories.update(WHO, "m000001", Patch({"statement": "harmless"}), Request())
    await until(lambda: _idle(stack))
    assert await due(stack) == ["m000042"]


async def test_no_vectors_come_for_what_is_gone_or_changed_meanwhile(stack: Stack) -> None:
    ids = await later(stack, ANN, "deleted", "purged", "changed", "stays")
    assert stack.embedder is not None
    real = stack.embedder.embed

    async def meanwhile(texts: Sequence[str]) -> Matrix:
        stack.embedder.embed = real  # type: ignore[method-assign, union-attr]
        await stack.memories.delete(WHO, ids[0], "", False, "", Request())
        await stack.memories.delete(WHO, ids[1], "", True, "", Request())
        stack.space._embedder = None
        await stack.memories.update(WHO, ids[2], Patch({"statement": "another text"}), Request())
        stack.space._embedder = stack.embedder
        return await real(texts)

    stack.embedder.embed = meanwhile  # type: ignore[method-assign]
    assert await stack.backlog._embed_some(WHO)
    resident = (await stack.residency.get(WHO)).resident
    assert [resident.has_vectors(i) for i in ids] == [False, False, False, True]
    assert await due(stack) == [ids[2]]
    assert [s.memory_id for s in await stack.real_ledger.vectors(WHO, stack.space.model)] == [ids[3]]


async def test_partitions_take_turns(stack: Stack) -> None:
    small = Scope("acme", "small")
    await later(stack, ANN, *(f"number {n}" for n in range(200)))
    await later(stack, small, "just one")
    assert stack.embedder is not None
    stack.embedder.calls.clear()
    stack.backlog.notice(WHO)
    stack.backlog.notice(small.partition)
    stack.backlog.start()
    await until(lambda: _none_due(stack))
    assert ["just one"] in stack.embedder.calls[:3]


async def test_closing_leaves_no_task_also_while_the_embedder_hangs(stack: Stack) -> None:
    assert stack.embedder is not None
    asked = asyncio.Event()

    async def hangs(_: Sequence[str]) -> Matrix:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    stack.embedder.embed = hangs  # type: ignore[method-assign, assignment]
    await later(stack, ANN, "one")
    stack.backlog.start()
    stack.backlog.notice(WHO)
    await asked.wait()
    await stack.backlog.close()
    assert "embedding-backlog" not in {task.get_name() for task in asyncio.all_tasks()}


async def _true(value: bool) -> bool:
    return value


async def _none_due(stack: Stack) -> bool:
    return not await due(stack)


async def _idle(stack: Stack) -> bool:
    return not stack.backlog._partitions


async def test_refused_texts_are_forgotten_with_their_memories(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    stack.space._embedder = Choosy(True)
    (memory_id,) = await later(stack, ANN, "poison one")
    await stack.backlog._embed_some(WHO)
    assert stack.backlog._refused == {WHO: {memory_id: 1}}
    await stack.memories.delete(WHO, memory_id, "", True, "", Request())
    assert not await stack.backlog._embed_some(WHO)
    assert stack.backlog._refused == {}
    # Those of many partitions together are bounded: the one looked at longest ago is forgotten.
    monkeypatch.setattr(module, "MAX_REFUSED", 2)
    scopes = [Scope("acme", f"user{n}") for n in range(4)]
    for scope in scopes:
        await later(stack, scope, "poison")
        await stack.backlog._embed_some(scope.partition)
    assert list(stack.backlog._refused) == [scope.partition for scope in scopes[2:]]
