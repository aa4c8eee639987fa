"""Shortens messages that are too long for a window, so that the newest is not missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from memsidecar.domain.context.budget import Need, allocate
from memsidecar.domain.context.cutting import both_ends
from memsidecar.domain.context.values import Count
from memsidecar.domain.session import Message

Cost: TypeAlias = Callable[[Message, str], int]
"""Tokens that a message would take if that were its text."""

# Fewer tokens of a text, its beginning and its end together, say nothing.
SMALLEST = 16
# Texts cost more in some places than alone (escapes, a caller's own count): so often a part is tried that fits.
_TRIES = 6


@dataclass(frozen=True, slots=True)
class Shortening:
    """Of a long text the beginning and the end stay, with a mark between, cut at characters as a reader sees them.

    Only texts are shortened: the arguments of tool calls would be no JSON any more.
    """

    count: Count
    cost: Cost

    def least(self, messages: Sequence[Message]) -> int:
        """Tokens of the messages at their shortest."""
        return sum(self._shortest(message).token_count for message in messages)

    def fitted(self, messages: Sequence[Message], room: int) -> list[Message]:
        """The messages in at most `room` tokens, which is `least` or more; the longest are shortened, evenly."""
        shortest = [self._shortest(message) for message in messages]
        needs = [Need(whole.token_count, short.token_count) for whole, short in zip(messages, shortest, strict=True)]
        return [
            whole if tokens >= whole.token_count else self._within(whole, short, tokens)
            for whole, short, tokens in zip(messages, shortest, allocate(room, needs), strict=True)
        ]

    def _shortest(self, message: Message) -> Message:
        tokens = SMALLEST
        while tokens < min(len(message.text), message.token_count):
            # A single character may be longer than that.
            if text := both_ends(message.text, tokens, self.count):
                short = replace(message, text=text, token_count=self.cost(message, text))
                return short if short.token_count < message.token_count else message
            tokens *= 2
        return message

    def _within(self, message: Message, shortest: Message, tokens: int) -> Message:
        bare = self.cost(message, "")
        left = tokens - bare
        for _ in range(_TRIES):
            if left < SMALLEST:
                break
            text = both_ends(message.text, left, self.count)
            cost = self.cost(message, text)
            if text and cost <= tokens:
                return replace(message, text=text, token_count=cost)
            left = min(left - 1, left * (tokens - bare) // max(1, cost - bare))
        return shortest


def tokens_of(message: Message, text: str, count: Count) -> int:
    """Tokens of a message with that text, and of its tool calls."""
    parts = [text, *(f"{call.name} {call.arguments}" for call in message.tool_calls)]
    return sum(count(part) for part in parts if part)


def plain_cost(count: Count) -> Cost:
    """Tokens of messages as they are. Where a message's `token_count` says more than `count`, as one that the caller
    has counted may, a part of it takes more in proportion."""
    whole: dict[tuple[int, str], int] = {}

    def cost(message: Message, text: str) -> int:
        key = (message.seq, message.text)
        if key not in whole:
            whole[key] = max(1, tokens_of(message, message.text, count))
        tokens = tokens_of(message, text, count)
        return max(tokens, -(-tokens * message.token_count // whole[key]))

    return cost
