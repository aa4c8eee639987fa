"""What is said later of a time before, and questions about a time: what holds now, and what held then."""

from __future__ import annotations

import pytest

from memsidecar.domain.as_of import AsOf
from memsidecar.domain.memory import Fact, Kind, State
from memsidecar.domain.recall import Filter
from tests.services.stack import ANN, Stack
from tests.services.test_learning import DAY, MONDAY, say, told
from tests.services.test_recall_options import texts

NOW = MONDAY + 200 * DAY


@pytest.fixture
async def learning(stack: Stack) -> Stack:
    stack.learn()
    stack.clock.time = NOW
    return stack


async def held(stack: Stack, predicate: str) -> dict[str, State]:
    """The values of an attribute with their states, in the order in which they became true."""
    states = frozenset({State.ACTIVE, State.SUPERSEDED, State.DISPUTED})
    page = await stack.memories.list(ANN, Filter(states=states), False, None, 1_000)
    facts = [m for m in page.memories if isinstance(m.body, Fact) and m.body.predicate == predicate]
    return {m.text: m.state for m in sorted(facts, key=lambda m: m.valid_from or 0)}


@pytest.mark.parametrize(
    ("stated", "change", "predicate"),
    [
        ("I live in Munich.", "I moved to Berlin last week.", "lives_in"),
        ("I live in Munich.", "I moved to Berlin yesterday.", "lives_in"),
        ("I live in Munich.", "I moved to Berlin three weeks ago.", "lives_in"),
        ("I live in Munich.", "I moved to Berlin in February.", "lives_in"),
        ("I work at Siemens.", "I started a new job at Bosch last week.", "employer"),
        ("I'm single.", "I got married last month.", "relationship_status"),
        ("我住在慕尼黑。", "我上周搬到柏林了。", "lives_in"),
        ("我住在北京。", "我去年搬到上海了。", "lives_in"),
        ("My name is Anna.", "I changed my name to Beth last month.", "name"),
        ("我叫王伟。", "我上个月改名叫王磊了。", "name"),
    ],
)
@pytest.mark.parametrize("later", [0, 1, 10])
async def test_a_change_that_is_told_after_a_statement_holds(
    learning: Stack, stated: str, change: str, predicate: str, later: int
) -> None:
    for text, time in ((stated, MONDAY), (change, MONDAY + later * DAY + 1)):
        await told(learning, say(text, time=time))
    assert list((await held(learning, predicate)).values()) == [State.SUPERSEDED, State.ACTIVE]
    (now,) = [text for text, state in (await held(learning, predicate)).items() if state is State.ACTIVE]
    assert now in change


async def test_an_old_turn_that_is_brought_in_later_is_history(learning: Stack) -> None:
    await told(learning, say("I live in Munich.", time=MONDAY))
    await told(learning, say("I moved to Berlin last week.", time=MONDAY - 30 * DAY))
    assert await held(learning, "lives_in") == {
        "I moved to Berlin last week": State.SUPERSEDED,
        "I live in Munich": State.ACTIVE,
    }


@pytest.mark.parametrize(
    "over", ["I lived in Berlin until last year.", "I lived in Berlin in 2015.", "I was in Berlin."]
)
async def test_what_says_that_it_is_over_changes_nothing(learning: Stack, over: str) -> None:
    await told(learning, say("I live in Munich.", time=MONDAY))
    await told(learning, say(over, time=MONDAY + DAY))
    assert (await held(learning, "lives_in"))["I live in Munich"] is State.ACTIVE


@pytest.mark.parametrize(
    ("name", "called"),
    [("My name is Anna.", "Call me Annie."), ("我叫王磊。", "大家都叫我小王。"), ("我叫王磊。", "我的小名叫豆豆。")],
)
async def test_what_somebody_is_called_leaves_his_name(learning: Stack, name: str, called: str) -> None:
    await told(learning, say(name))
    await told(learning, say(called, time=MONDAY + DAY))
    assert list((await held(learning, "name")).values()) == [State.ACTIVE]
    assert list((await held(learning, "preferred_name")).values()) == [State.ACTIVE]


ROME, OSLO, LIMA = "I live in Rome.", "I moved to Oslo.", "I moved to Lima."


@pytest.fixture
async def moving(learning: Stack) -> Stack:
    for month, text in enumerate((ROME, OSLO, LIMA)):
        await told(learning, say(text, time=MONDAY + month * 60 * DAY))
    return learning


async def test_a_question_about_a_time_sees_what_held_then(moving: Stack) -> None:
    answer = await moving.recall(ANN, "Where do I live?", filter=Filter(valid_at=MONDAY + 70 * DAY))
    assert set(texts(answer)) == {ROME, OSLO}, "nobody had said anything of Lima"
    outdated = {h.memory.text: [s.text for s in h.standings if s.state is State.SUPERSEDED] for h in answer.hits}
    assert outdated == {ROME: ["I live in Rome"], OSLO: []}
    (rome,) = [standing for hit in answer.hits for standing in hit.standings]
    known = {
        m.id: m.text
        for m in (await moving.memories.list(ANN, Filter(states=frozenset(State)), False, None, 99)).memories
    }
    assert known[rome.superseded_by] == "I moved to Oslo"
    assert not any("Lima" in known[each] for each in rome.counterparts)


@pytest.mark.parametrize(("days", "home"), [(1, "Rome"), (70, "Oslo"), (130, "Lima")])
async def test_a_fact_that_held_then_is_none_that_holds_no_longer(moving: Stack, days: int, home: str) -> None:
    wanted = Filter(kinds=frozenset({Kind.FACT}), valid_at=MONDAY + days * DAY)
    (hit,) = (await moving.recall(ANN, "Where do I live?", filter=wanted)).hits
    assert home in hit.memory.text
    assert (hit.memory.state, hit.standings) == (State.ACTIVE, ())


@pytest.mark.parametrize(
    ("states", "days", "seen"),
    [
        ({State.ACTIVE}, 70, ["I moved to Oslo"]),
        ({State.ACTIVE, State.SUPERSEDED}, 70, ["I moved to Oslo"]),
        ({State.SUPERSEDED}, 70, []),
        ({State.SUPERSEDED}, None, ["I live in Rome", "I moved to Oslo"]),
        ({State.ACTIVE}, None, ["I moved to Lima"]),
    ],
)
async def test_a_filter_by_state_goes_by_the_state_that_is_shown(
    moving: Stack, states: set[State], days: int | None, seen: list[str]
) -> None:
    at = None if days is None else MONDAY + days * DAY
    wanted = Filter(kinds=frozenset({Kind.FACT}), states=frozenset(states), valid_at=at)
    hits = (await moving.recall(ANN, "Where do I live?", filter=wanted)).hits
    listed = (await moving.memories.list(ANN, wanted, False, None, 99)).memories
    assert sorted(hit.memory.text for hit in hits) == sorted(memory.text for memory in listed) == sorted(seen)
    assert {hit.memory.state for hit in hits} | {memory.state for memory in listed} <= states
    for memory in listed:
        assert (await moving.memories.get(ANN.partition, memory.id, AsOf(valid_at=at))).state is memory.state


async def test_without_a_time_what_holds_now_is_asked_for(moving: Stack) -> None:
    answer = await moving.recall(ANN, "Where do I live?")
    outdated = {h.memory.text for h in answer.hits if any(s.state is State.SUPERSEDED for s in h.standings)}
    assert outdated == {ROME, OSLO}
