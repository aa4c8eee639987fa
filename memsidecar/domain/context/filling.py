"""Fills one section with as much as fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from memsidecar.domain.context.cutting import excerpt
from memsidecar.domain.context.items import Item, is_experience
from memsidecar.domain.context.passage import Asked
from memsidecar.domain.context.values import Count, Part
from memsidecar.domain.session import Message, Window
from memsidecar.domain.shortening import Shortening, plain_cost
from memsidecar.domain.window import DEFAULT_MAX_MESSAGES, MESSAGE_OVERHEAD, cut_window, least_window

# A shorter beginning of a text says nothing.
SMALLEST_CUT = 16
# What was found for the question is cut around what answers it. The profile must not depend on the question.
_FOR_THE_QUESTION = frozenset((Part.FACTS, Part.EPISODES))
# Characters that no item's token is longer than, on average: what is surely too long is not counted.
_CHARS_PER_TOKEN = 12
# Tokens of a reference differ with its digits: so many digits are counted, which a context never exceeds.
_WIDEST = "m999"


class Renderer(Protocol):
    """A format. Texts end in a line end, so that their tokens add up, and the same input gives the same text."""

    window_is_text: bool
    """Whether the window is rendered; else its messages stand for themselves."""
    tail: str

    def head(self, cited: bool) -> str: ...

    def opening(self, part: Part, has_experience: bool) -> str: ...

    def closing(self, part: Part) -> str: ...

    def item(self, item: Item, reference: str, text: str) -> str:
        """`text` is the item's, or a part of it."""
        ...


@dataclass(frozen=True, slots=True)
class Filled:
    """What was chosen for a section, in order; with what each shows. `tokens` has the section's frame in it."""

    part: Part
    chosen: tuple[Item, ...] = ()
    texts: tuple[str, ...] = ()
    tokens: int = 0
    dropped: tuple[Item, ...] = ()
    shortened: bool = False

    @property
    def truncated(self) -> bool:
        return bool(self.dropped) or self.shortened


@dataclass(slots=True)
class Filling:
    """Counts in one encoding and one format."""

    renderer: Renderer
    count: Count
    cited: bool
    ceiling: int
    """What costs more is not counted exactly."""
    asked: Asked
    _costs: dict[Item, int] = field(default_factory=dict)
    _messages: dict[int, Message] = field(default_factory=dict)
    _shortening: Shortening = field(init=False)

    def __post_init__(self) -> None:
        rendered = self.renderer.window_is_text
        self._shortening = Shortening(self.count, self._message_cost if rendered else plain_cost(self.count))

    def need(self, part: Part, items: Sequence[Item], enough: int) -> int:
        """Tokens of all the items, frame included; counting stops once it is `enough`."""
        if not items:
            return 0
        total = self.frame(part, items)
        for item in items:
            if total >= enough:
                break
            total += self.cost(item)
        return total

    def fill(self, part: Part, items: Sequence[Item], limit: int) -> Filled:
        """As many items as fit, in order. One that is too long is shortened, to half of the section when there are
        others; one that says nothing short is left out, and those after it still have their chance."""
        if not items:
            return Filled(part)
        used = self.frame(part, items)
        crowded = self.need(part, items, limit + 1) > limit
        most = max((limit - used) // 2, 2 * SMALLEST_CUT) if len(items) > 1 else limit
        chosen: list[Item] = []
        texts: list[str] = []
        dropped: list[Item] = []
        shortened = False
        for item in items:
            room = limit - used
            shown = self._shown(item, min(room, most) if crowded and item.can_be_cut else room)
            if shown is None:
                dropped.append(item)
                continue
            text, cost = shown
            chosen.append(item)
            texts.append(text)
            shortened = shortened or text is not item.text
            used += cost
        if not chosen:
            return Filled(part, dropped=tuple(dropped))
        return Filled(part, tuple(chosen), tuple(texts), used, tuple(dropped), shortened)

    def least_window(self, messages: Sequence[Message]) -> int:
        """Tokens of the messages that must stay and of the newest one at its shortest; 0 when there are none."""
        if not self.renderer.window_is_text:
            return least_window(messages, self._shortening)
        least = least_window(list(map(self._costed, messages)), self._shortening, 0)
        return least + self.frame(Part.WINDOW, ()) if least else 0

    def window(self, messages: Sequence[Message], limit: int, most: int = DEFAULT_MAX_MESSAGES) -> Window:
        """The newest messages whose cost in this format fits, in their own form; `token_count` is that cost. Of the
        newest one, whatever `most` is, as much as fits. `limit` is what `least_window` says, or more."""
        if not self.renderer.window_is_text:
            return cut_window(messages, (), limit, most, MESSAGE_OVERHEAD, self._shortening)
        own = {message.seq: message for message in messages}
        frame = self.frame(Part.WINDOW, ())
        cut = cut_window(list(map(self._costed, messages)), (), max(0, limit - frame), most, 0, self._shortening)
        kept = tuple(replace(own[message.seq], text=message.text) for message in cut.messages)
        return replace(cut, messages=kept, token_count=cut.token_count + frame if kept else 0)

    def frame(self, part: Part, items: Sequence[Item]) -> int:
        opening = self.renderer.opening(part, part is Part.EPISODES and any(is_experience(i.memory) for i in items))
        return self.count(opening) + self.count(self.renderer.closing(part))

    def cost(self, item: Item) -> int:
        """Tokens of an item whole."""
        cost = self._costs.get(item)
        if cost is None:
            cost = self._costs[item] = self._cost(item, item.text)
        return cost

    def _costed(self, message: Message) -> Message:
        if message.token_count > self.ceiling:
            return message
        costed = self._messages.get(message.seq)
        if costed is None:
            cost = self._message_cost(message, message.text)
            costed = self._messages[message.seq] = replace(message, token_count=cost)
        return costed

    def _message_cost(self, message: Message, text: str) -> int:
        return self._cost(Item(Part.WINDOW, text, message=message), text)

    def _cost(self, item: Item, text: str) -> int:
        return self.count(self.renderer.item(item, _WIDEST if self.cited and item.memory else "", text))

    def _shown(self, item: Item, limit: int) -> tuple[str, int] | None:
        """(text, cost) of an item within a limit; None when it cannot be shown."""
        if limit <= 0:
            return None
        too_long = len(item.text) > _CHARS_PER_TOKEN * limit
        if not (too_long and item.can_be_cut):
            cost = self.cost(item)
            if cost <= limit:
                return item.text, cost
        if not item.can_be_cut:
            return None
        left = limit - self._cost(item, "")
        # Escaping may lengthen what was counted bare.
        for _ in range(3):
            if left < SMALLEST_CUT:
                return None
            if item.part in _FOR_THE_QUESTION:
                text = self.asked.passage(item.text, left, self.count)
            else:
                text = excerpt(item.text, left, self.count)
            cost = self._cost(item, text)
            if cost <= limit:
                return (text, cost) if text else None
            left -= cost - limit
        return None
