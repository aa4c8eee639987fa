"""Cuts the part of a conversation that fits a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memsidecar.domain.session import Message, Role, Window

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
) -> Window:
    """System and pinned messages, and as many of the newest others as fit, in order and whole.

    `messages`: the newest of the conversation, oldest first, with their token counts. `pinned`: all that must stay;
    those also in `messages` (same seq) count once. What must stay does so even beyond the budget and the limit.
    A tool call, its results, and messages with one group_key stay or go together; the first group that does not fit
    ends the window, so that it has no holes. A tool result without its call is left out, even a pinned one: no model
    accepts it. `omitted` counts the given messages that are not in the window.
    """
    present = {message.seq for message in messages if message.seq}
    given = [*(message for message in pinned if not message.seq or message.seq not in present), *messages]
    given.sort(key=lambda message: (message.seq == 0, message.seq))
    forced_seqs = {message.seq for message in pinned if message.seq}
    forced_ids = {id(message) for message in pinned}

    kept: set[int] = set()
    optional: list[list[int]] = []
    for group in _groups(given):
        if any(stays(given[at]) or given[at].seq in forced_seqs or id(given[at]) in forced_ids for at in group):
            kept.update(group)
        else:
            optional.append(group)

    tokens = _tokens((given[at] for at in kept), overhead)
    for group in sorted(optional, key=lambda places: places[-1], reverse=True):
        cost = _tokens((given[at] for at in group), overhead)
        if tokens + cost > token_budget or len(kept) + len(group) > max_messages:
            break
        kept.update(group)
        tokens += cost
    return Window(tuple(given[at] for at in sorted(kept)), tokens, len(given) - len(kept))


def stays(message: Message) -> bool:
    """Whether a window never drops it."""
    return message.pinned or message.role is Role.SYSTEM


def _tokens(messages: Iterable[Message], overhead: int) -> int:
    return sum(message.token_count + overhead for message in messages)


def _groups(messages: Sequence[Message]) -> list[list[int]]:
    """Places of the messages that belong together, ascending. Tool results without a call are in no group."""
    leader = list(range(len(messages)))

    def find(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    # Models count their call ids from 0 again in each turn: a result belongs to the newest call before it.
    call_places: dict[str, int] = {}
    group_places: dict[str, int] = {}
    dangling: set[int] = set()
    for place, message in enumerate(messages):
        if message.role is Role.TOOL:
            caller = call_places.get(message.tool_call_id)
            if caller is None:
                dangling.add(place)
                continue
            leader[find(place)] = find(caller)
        for call in message.tool_calls:
            call_places[call.id] = place
        if message.group_key:
            leader[find(place)] = find(group_places.setdefault(message.group_key, place))

    groups: dict[int, list[int]] = {}
    for place in range(len(messages)):
        if place not in dangling:
            groups.setdefault(find(place), []).append(place)
    return list(groups.values())
