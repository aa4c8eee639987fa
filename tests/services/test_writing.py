from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from memsidecar.domain import decide
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action, Draft, Outcome, Request
from memsidecar.domain.errors import NotFound, RequestIdReused, StoreFull, StoreUnavailable
from memsidecar.domain.memory import Fact
from memsidecar.domain.recall import Filter
from memsidecar.services.recorded import Result
from memsidecar.services.writing import MAX_EVENTS
from tests.services.stack import ANN, BEN, Stack, stored

WHO = ANN.partition


def writes(text: str, count: int = 1) -> Callable[[Decision], list[Result]]:
    def command(decision: Decision) -> list[Result]:
        drafts = [Draft(Fact(f"{text} {n}" if count > 1 else text)) for n in range(count)]
        return [decide.remember(decision, draft, (), None) for draft in drafts]

    return command


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def head_is_the_ledgers(stack: Stack) -> None:
    resident = (await stack.residency.get(WHO)).resident
    assert resident.head.revision == (await stack.real_ledger.head(WHO)).revision


async def test_what_waits_is_one_transaction_in_order_and_each_gets_its_own_answer(stack: Stack) -> None:
    await stack.residency.get(WHO)
    stack.ledger.gate.clear()
    first = asyncio.create_task(stack.residency.write(WHO, writes("first"), Request()))
    await settled()
    others = [asyncio.create_task(stack.residency.write(WHO, writes(f"text {n}"), Request())) for n in range(50)]
    await settled()
    stack.ledger.gate.set()
    answers = await asyncio.gather(first, *others)
    assert [len(batch.events) for batch in stack.ledger.appends] == [1, 50]
    assert [answer.revision for answer in answers] == list(range(1, 52))
    texts = [r.memory.text for answer in answers for r in answer.results if isinstance(r, Outcome)]
    assert texts == ["first", *(f"text {n}" for n in range(50))] == await stack.texts(ANN)
    await head_is_the_ledgers(stack)


async def test_a_cancelled_callers_write_is_durable_and_the_others_are_unaffected(stack: Stack) -> None:
    await stack.residency.get(WHO)
    stack.ledger.gate.clear()
    gone = asyncio.create_task(stack.residency.write(WHO, writes("gone"), Request()))
    stays = asyncio.create_task(stack.residency.write(WHO, writes("stays"), Request()))
    await settled()
    gone.cancel()
    await asyncio.wait([gone])
    stack.ledger.gate.set()
    await stays
    assert await stack.texts(ANN) == ["gone", "stays"]
    await stack.remember(ANN, "later")
    assert await stack.texts(ANN) == ["gone", "stays", "later"]


@pytest.mark.parametrize("error", [NotFound("x"), ZeroDivisionError()])
async def test_a_command_that_raises_fails_alone(stack: Stack, error: Exception) -> None:
    def fails(decision: Decision) -> list[Result]:
        writes("half done")(decision)
        raise error

    commands = [writes("a"), fails, writes("b")]
    answers = await asyncio.gather(
        *(stack.residency.write(WHO, command, Request()) for command in commands), return_exceptions=True
    )
    assert answers[1] is error
    assert await stack.texts(ANN) == ["a", "b"]
    await head_is_the_ledgers(stack)


@pytest.mark.parametrize("error", [StoreFull("ledger"), StoreUnavailable("ledger"), RuntimeError("a bug")])
async def test_a_ledger_that_fails_fails_all_that_wait_and_nothing_is_applied(stack: Stack, error: Exception) -> None:
    await stack.remember(ANN, "before")
    stack.ledger.failure = error
    answers = await asyncio.gather(
        *(stack.residency.write(WHO, writes(f"t{n}"), Request(f"r{n}")) for n in range(20)), return_exceptions=True
    )
    assert all(answer is error for answer in answers)
    assert await stack.texts(ANN) == ["before"]
    await head_is_the_ledgers(stack)
    stack.ledger.failure = None
    await stack.residency.write(WHO, writes("t0"), Request("r0"))
    assert await stack.texts(ANN) == ["before", "t0"]


async def test_one_error_for_many_callers_keeps_short_tracebacks(stack: Stack) -> None:
    stack.ledger.failure = StoreFull("ledger")
    depths = []
    for _ in range(5):
        answers = await asyncio.gather(
            *(stack.residency.write(WHO, writes(f"t{n}"), Request()) for n in range(50)), return_exceptions=True
        )
        for answer in answers:
            assert isinstance(answer, StoreFull)
            depth, trace = 0, answer.__traceback__
            while trace is not None:
                depth, trace = depth + 1, trace.tb_next
            depths.append(depth)
    assert max(depths) < 60


async def test_a_repeated_request_gets_the_first_answer_also_after_a_restart(stack: Stack) -> None:
    twice = Draft(Fact("Tea is nice."), labels={"n": "1"}), Draft(Fact("tea is  nice."), labels={"n": "2"})
    first = await stack.remember(ANN, *twice, "another", "another", request="r")
    assert [o.action for o in first.outcomes if isinstance(o, Outcome)] == [
        Action.CREATED,
        Action.MERGED,
        Action.CREATED,
        Action.DUPLICATE,
    ]
    # The memory moves on; the answer does not.
    await stack.remember(ANN, Draft(Fact("tea is nice."), labels={"n": "3"}))
    assert await stack.remember(ANN, *twice, "another", "another", request="r") == first
    after = await stack.again()
    try:
        assert await after.remember(ANN, *twice, "another", "another", request="r") == first
        await after.memories.delete(WHO, stored(first)[0].id, "", True, "", Request())
        again = await after.remember(ANN, *twice, "another", "another", request="r")
        assert isinstance(again.outcomes[0], NotFound)
        assert again.outcomes[2:] == first.outcomes[2:]
        assert again.revision == first.revision
    finally:
        await after.close()


async def test_the_same_request_twice_in_one_drain_is_written_once(stack: Stack) -> None:
    answers = await asyncio.gather(
        stack.residency.write(WHO, writes("a"), Request("r", b"1")),
        stack.residency.write(WHO, writes("b"), Request("q", b"1")),
        stack.residency.write(WHO, writes("a"), Request("r", b"1")),
        stack.residency.write(WHO, writes("c"), Request("r", b"2")),
        stack.residency.write(WHO, writes("d"), Request()),
        return_exceptions=True,
    )
    assert answers[0] == answers[2]
    assert isinstance(answers[3], RequestIdReused)
    assert await stack.texts(ANN) == ["a", "b", "d"]
    await head_is_the_ledgers(stack)


async def test_a_known_request_does_not_let_later_ones_overtake_its_neighbours(stack: Stack) -> None:
    await stack.residency.write(WHO, writes("known"), Request("k", b""))
    commands = [("k", "known"), ("", "first"), ("x", "second"), ("x", "second"), ("", "third")]
    await asyncio.gather(*(stack.residency.write(WHO, writes(text), Request(rid, b"")) for rid, text in commands))
    assert await stack.texts(ANN) == ["known", "first", "second", "third"]


async def test_an_answer_that_cannot_be_given_again_fails_alone(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    await stack.residency.write(WHO, writes("known"), Request("k", b""))

    async def fails(*_: object) -> object:
        raise StoreUnavailable("ledger")

    monkeypatch.setattr(stack.real_ledger, "history", fails)
    answers = await asyncio.gather(
        stack.residency.write(WHO, writes("known"), Request("k", b"")),
        stack.residency.write(WHO, writes("new"), Request()),
        return_exceptions=True,
    )
    assert isinstance(answers[0], StoreUnavailable)
    assert await stack.texts(ANN) == ["known", "new"]


async def test_more_events_than_one_transaction_takes_are_written_in_several(stack: Stack) -> None:
    count = MAX_EVENTS // 4 + 1
    answers = await asyncio.gather(
        *(stack.residency.write(WHO, writes(f"w{n}", count), Request(f"r{n}")) for n in range(6))
    )
    assert [len(batch.events) for batch in stack.ledger.appends] == [4 * count, 2 * count]
    assert [answer.revision for answer in answers] == [count * n for n in range(1, 7)]
    await head_is_the_ledgers(stack)


async def test_a_batch_shows_whole_or_not_at_all(stack: Stack) -> None:
    await stack.remember(ANN, *(f"old {n}" for n in range(10)))
    seen: set[int] = set()
    stop = False

    async def look() -> None:
        while not stop:
            page = await stack.memories.list(ANN, Filter(), False, None, 1000)
            seen.add(len(page.memories))
            seen.add(len((await stack.recall(ANN, "old new batch", max_hits=300)).hits))
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    await stack.remember(ANN, *(f"new number {n} of the batch" for n in range(256)))
    assert len(await stack.texts(ANN)) == 266
    stop = True
    await looking
    assert seen <= {10, 266}


async def test_a_large_batch_lets_others_run(stack: Stack) -> None:
    """No timing: while it is decided and applied, the loop turns several times."""
    await stack.residency.get(WHO)
    turns = 0
    stop = False

    async def count() -> None:
        nonlocal turns
        while not stop:
            turns += 1
            await asyncio.sleep(0)

    loaded = await stack.residency.get(WHO)
    counting = asyncio.create_task(count())
    started = time.perf_counter()
    await stack.residency.write(WHO, writes("many", 1500), Request())
    assert time.perf_counter() > started
    stop = True
    await counting
    assert turns > 10
    assert loaded.writer.at_rest


async def test_another_writers_entries_are_caught_up_with(stack: Stack) -> None:
    """A second process is locked out; if one wrote all the same, nothing may be lost or wrong for ever."""
    await stack.remember(ANN, "mine")
    other = await Stack.open(stack.directory, stack.embedder, ids=stack.ids)
    await other.remember(ANN, "theirs")
    await other.close()
    await stack.real_ledger.close()
    again = await Stack.open(stack.directory, stack.embedder, ids=stack.ids)
    stack.ledger._real = again.real_ledger  # the same ledger, opened anew: it knows what the other one wrote
    await stack.remember(ANN, "mine too")
    assert await stack.texts(ANN) == ["mine", "theirs", "mine too"]
    await again.close()


async def test_a_commit_that_cannot_be_applied_is_answered_and_the_partition_loaded_again(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    resident = (await stack.residency.get(WHO)).resident

    def fails(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(type(resident), "apply", fails)
    answer = await stack.residency.write(WHO, writes("kept"), Request())
    assert answer.revision == 1
    monkeypatch.undo()
    assert await stack.texts(ANN) == ["kept"]
    await stack.remember(ANN, "next")
    assert await stack.texts(ANN) == ["kept", "next"]


async def test_partitions_do_not_wait_for_each_other(stack: Stack) -> None:
    await asyncio.gather(stack.remember(ANN, "a"), stack.remember(BEN, "b"))
    assert (await stack.texts(ANN), await stack.texts(BEN)) == (["a"], ["b"])
