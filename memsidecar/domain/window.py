"""Cuts the part of a conversation that fits a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memsidecar.domain.errors import InvalidField
from memsidecar.domain.session import Message, Role, Window
from memsidecar.domain.shortening import Shortening
from memsidecar.domain.tool_pairs import ToolPairs, tool_pairs

DEFAULT_TOKEN_BUDGET = 8192
DEFAULT_RESERVED_TOKENS = 2048
"""Left for the answer: what cut_window() gets is the budget less this."""
DEFAULT_MAX_MESSAGES = 20
LOOK_BACK = 4
"""Newest messages to look at for every message that a window may hold: tool calls and results come in groups."""
MESSAGE_OVERHEAD = 4
"""Tokens that chat formats spend on each message besides its text."""


def cut_window(
    messages: Sequence[Message],
    pinned: Sequence[Message],
    token_budget: int = DEFAULT_TOKEN_BUDGET - DEFAULT_RESERVED_TOKENS,
    max_messages: int = DEFAULT_MAX_MESSAGES,
    overhead: int = MESSAGE_OVERHEAD,
    shortening: Shortening | None = None,
) -> Window:
    """System and pinned messages, and as many of the newest others as fit, whole, and in order but for one thing:
    results of a tool call come right after it, because models want them there; what was said between them comes next.

    `messages`: the newest of the conversation, oldest first, with their token counts. `pinned`: all that must stay;
    those also in `messages` (same seq) count once. What must stay does so even beyond the budget and the limit.
    A tool call, its results, and messages with one group_key stay or go together; the first group that does not fit
    ends the window, so that it has no holes. A tool result without its call is left out, and so is a call without all
    of its results when something else follows it, even pinned ones: no model accepts them. `omitted` counts the given
    messages that are not in the window.

    With `shortening` the newest message is there, too, with what belongs to it, whatever `max_messages` says: its text
    is shortened when it does not fit whole. Raises InvalidField when it does not fit at its shortest, either.
    """
    sorted_ = _sorted(messages, pinned)
    given, kept = sorted_.given, set(sorted_.forced)
    tokens = _tokens((given[at] for at in kept), overhead)
    shown: dict[int, Message] = {}
    for group in sorted_.optional:
        cost = _tokens((given[at] for at in group), overhead)
        is_newest = shortening is not None and group is sorted_.newest
        if shortening is not None and is_newest and tokens + cost > token_budget:
            group_messages = [given[at] for at in group]
            room = token_budget - tokens - overhead * len(group)
            least = shortening.least(group_messages)
            if least > room:
                raise InvalidField(
                    "max_tokens",
                    f"leaves too little: {token_budget} tokens for messages, of which what must stay and the newest "
                    f"message at its shortest take {token_budget + least - room}",
                )
            shown = dict(zip(group, shortening.fitted(group_messages, room), strict=True))
            cost = _tokens(shown.values(), overhead)
        elif tokens + cost > token_budget or (len(kept) + len(group) > max_messages and not is_newest):
            break
        kept.update(group)
        tokens += cost
    in_order = sorted(kept, key=sorted_.pairs.in_order)
    shortened = any(message.text != given[at].text for at, message in shown.items())
    return Window(tuple(shown.get(at, given[at]) for at in in_order), tokens, len(given) - len(kept), shortened)


def least_window(messages: Sequence[Message], shortening: Shortening, overhead: int = MESSAGE_OVERHEAD) -> int:
    """Tokens of the smallest window that cut_window() makes with `shortening`: what must stay, and the newest message
    at its shortest."""
    sorted_ = _sorted(messages, ())
    newest = [sorted_.given[at] for at in sorted_.newest]
    stay = (sorted_.given[at] for at in sorted_.forced)
    return _tokens(stay, overhead) + shortening.least(newest) + overhead * len(newest)


def stays(message: Message) -> bool:
    """Whether a window never drops it."""
    return message.pinned or message.role is Role.SYSTEM


@dataclass(frozen=True, slots=True)
class _Sorted:
    """`forced`: places that must stay. `optional`: groups of places that stay or go together, the newest first.
    `newest`: the one of them that has the newest message; empty when that must stay anyway."""

    given: Sequence[Message]
    pairs: ToolPairs
    forced: frozenset[int]
    optional: Sequence[list[int]]
    newest: Sequence[int]


def _sorted(messages: Sequence[Message], pinned: Sequence[Message]) -> _Sorted:
    present = {message.seq for message in messages if message.seq}
    given = [*(message for message in pinned if not message.seq or message.seq not in present), *messages]
    given.sort(key=lambda message: (message.seq == 0, message.seq))
    forced_seqs = {message.seq for message in pinned if message.seq}
    forced_ids = {id(message) for message in pinned}

    pairs = tool_pairs(given)
    forced: set[int] = set()
    optional: list[list[int]] = []
    for group in _groups(given, pairs):
        if any(stays(given[at]) or given[at].seq in forced_seqs or id(given[at]) in forced_ids for at in group):
            forced.update(group)
        else:
            optional.append(group)
    optional.sort(key=lambda places: places[-1], reverse=True)
    # What the system says is no turn: the one before it is what a model answers.
    spoken = (at for at, message in enumerate(given) if message.role is not Role.SYSTEM and at not in pairs.unpaired)
    last = max(spoken, default=-1)
    newest = optional[0] if optional and optional[0][-1] == last else []
    return _Sorted(given, pairs, frozenset(forced), optional, newest)


def _tokens(messages: Iterable[Message], overhead: int) -> int:
    return sum(message.token_count + overhead for message in messages)


def _groups(messages: Sequence[Message], pairs: ToolPairs) -> list[list[int]]:
    """Places of the messages that belong together, ascending. What is unpaired is in no group."""
    leader = list(range(len(messages)))

    def find(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    group_places: dict[str, int] = {}
    groups: dict[int, list[int]] = {}
    there = [place for place in range(len(messages)) if place not in pairs.unpaired]
    for place in there:
        if place in pairs.callers:
            leader[find(place)] = find(pairs.callers[place])
        if messages[place].group_key:
            leader[find(place)] = find(group_places.setdefault(messages[place].group_key, place))
    for place in there:
        groups.setdefault(find(place), []).append(place)
    return list(groups.values())
