"""Ordinary changes, in two sentences: the first one is history once the second was said."""

from __future__ import annotations

import pytest

from memsidecar.domain.memory import Entity, Episode, Memory, State
from memsidecar.domain.recall import Filter
from tests.services.stack import ANN, Stack
from tests.services.test_learning import DAY, MONDAY, say, told

CHANGES = [
    ("I drink coffee every morning.", "I don't drink coffee anymore."),
    ("I drink coffee every morning.", "I stopped drinking coffee."),
    ("I drink coffee every morning.", "I gave up coffee."),
    ("I drink coffee every morning.", "I used to drink coffee every morning."),
    ("I drink coffee every morning.", "I quit coffee."),
    ("I love playing tennis.", "I quit tennis."),
    ("I go to the gym every day.", "I quit the gym."),
    ("I go running every Sunday.", "I don't go running anymore."),
    ("I prefer window seats.", "Actually I prefer aisle seats now."),
    ("I prefer window seats.", "I don't like window seats anymore."),
    ("I can't eat gluten.", "I can eat gluten again."),
    ("I don't eat meat.", "I started eating meat again."),
    ("I like drinking tea.", "I no longer like tea."),
    ("I live in Munich.", "Since March I live in Berlin."),
    ("I live in Munich.", "I moved to 東京."),
    ("My name is Wei Wang.", "My name is 王伟 now."),
    ("I work at Google.", "I left Google."),
    ("I work at Google.", "I quit Google."),
    ("I work at Google.", "I joined Meta last month."),
    ("I work at SAP.", "I work at 字节跳动 now."),
    ("My phone number is 555 123 4567.", "I changed my number, the new one is 555 765 4321."),
    ("我喜欢喝咖啡。", "我不喝咖啡了，改喝茶。"),
    ("我每天早上都喝咖啡。", "我戒了咖啡。"),
    ("我每周三去健身房。", "我不去健身房了。"),
    ("我不吃牛肉。", "我现在吃牛肉了。"),
    ("我更喜欢靠窗的座位。", "我现在更喜欢靠过道的座位。"),
    ("我叫王伟。", "我改名叫王磊了。"),
    ("我的手机号是13800138000。", "我换手机号了，新的是13900139000。"),
    ("我在谷歌上班。", "我离开谷歌了。"),
]
TOGETHER = [
    ("I like Italian food.", "I like Thai food now."),
    ("I prefer Italian food.", "I prefer spicy food."),
    ("I prefer window seats.", "I prefer dark chocolate now."),
    ("I live in Paris.", "I left Paris yesterday."),
    ("I drink coffee every morning.", "I don't drink tea anymore."),
    ("I work at Google.", "I left Google Maps open."),
    ("I work at Google.", "I joined a meeting last month."),
    ("我每天早上都喝咖啡。", "我今天不喝咖啡了。"),
    ("我喜欢吃辣。", "我不吃了。"),
    ("我的手机号是13800138000。", "我换了个话题。"),
]


async def read(stack: Stack, first: str, then: str) -> list[Memory]:
    """What was read of the first sentence, after both."""
    stack.learn()
    stack.clock.time = MONDAY + 10 * DAY
    # So long before that "last month" is after it.
    await told(stack, say(first, time=MONDAY - 400 * DAY))
    await told(stack, say(then, time=MONDAY))
    states = frozenset({State.ACTIVE, State.SUPERSEDED, State.DISPUTED})
    page = await stack.memories.list(ANN, Filter(states=states), False, None, 1_000)
    return [m for m in page.memories if not isinstance(m.body, Entity | Episode) and m.text == first.rstrip(".。")]


@pytest.mark.parametrize(("first", "then"), CHANGES)
async def test_what_has_changed_is_history(stack: Stack, first: str, then: str) -> None:
    assert {memory.state for memory in await read(stack, first, then)} == {State.SUPERSEDED}


@pytest.mark.parametrize(("first", "then"), TOGETHER)
async def test_what_holds_besides_stays(stack: Stack, first: str, then: str) -> None:
    assert {memory.state for memory in await read(stack, first, then)} == {State.ACTIVE}


@pytest.mark.parametrize("text", ["I left Paris yesterday.", "I eat meat now.", "我离开北京了。", "我不跑步了。"])
async def test_what_only_denies_is_not_kept_where_nothing_is_known(stack: Stack, text: str) -> None:
    assert await read(stack, text, "Hello.") == []
