"""Which tool results answer which calls, and what of both no model accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memsidecar.domain.session import Message, Role


@dataclass(frozen=True, slots=True)
class ToolPairs:
    """Places in a conversation. `callers` has the call's message of each result.

    `unpaired`: results without their call, and a message with calls that are not all answered, with the results it has,
    when something else follows: no result is to be expected any more. At the end of the conversation such calls are in
    flight, and are no such case.
    """

    callers: Mapping[int, int]
    unpaired: frozenset[int]

    def in_order(self, place: int) -> tuple[int, int]:
        """A sort key: results come right after their call, what was said between them after the last one."""
        return self.callers.get(place, place), place


def tool_pairs(messages: Sequence[Message]) -> ToolPairs:
    """Of messages in the order in which they were said."""
    # Models count their call ids from 0 again in each turn: a result belongs to the newest call before it.
    newest: dict[str, int] = {}
    callers: dict[int, int] = {}
    dangling: set[int] = set()
    waiting: dict[int, set[str]] = {}
    last_call = -1
    for place, message in enumerate(messages):
        if message.role is Role.TOOL:
            caller = newest.get(message.tool_call_id)
            if caller is None:
                dangling.add(place)
            else:
                callers[place] = caller
                waiting[caller].discard(message.tool_call_id)
        elif message.tool_calls:
            last_call = place
            waiting[place] = {call.id for call in message.tool_calls}
            newest.update((call.id, place) for call in message.tool_calls)

    after = range(last_call + 1, len(messages))
    in_flight = all(place in dangling or callers.get(place) == last_call for place in after)
    dropped = {place for place, ids in waiting.items() if ids and not (in_flight and place == last_call)}
    dropped.update(place for place, caller in callers.items() if caller in dropped)
    return ToolPairs(callers, frozenset(dangling | dropped))
