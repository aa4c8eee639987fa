"""Pages of lists: their sizes, their tokens, and where they end early."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from memsidecar.domain import limits
from memsidecar.domain.revision import page_token, page_token_after, parse_page_key, parse_page_token
from memsidecar.server.tokens import bound_to_history
from memsidecar.server.validation import Violations
from memsidecar.services.turn import Turn

_Item = TypeVar("_Item")


class Page:
    """What a list request asks for. Its token holds only for the same list with the same arguments."""

    __slots__ = ("_arguments", "_token", "size")

    def __init__(self, request: Any) -> None:
        self.size: int = min(request.page_size or limits.DEFAULT_PAGE_SIZE, limits.MAX_PAGE_SIZE)
        self._token: str = request.page_token
        arguments = type(request)()
        arguments.CopyFrom(request)
        arguments.ClearField("page_size")
        arguments.ClearField("page_token")
        self._arguments: bytes = bound_to_history(
            request.DESCRIPTOR.name.encode() + b":" + arguments.SerializeToString(deterministic=True)
        )

    def position(self, violations: Violations) -> int | None:
        """Where to go on in a collection in the order of numbers; None at its beginning."""
        position = parse_page_token(self._token, self._arguments) if self._token else None
        if self._token and position is None:
            self._refuse(violations)
        return position

    def key(self, violations: Violations) -> str:
        """The same for a collection in the order of keys; "" at its beginning."""
        key = parse_page_key(self._token, self._arguments) if self._token else ""
        if key is None:
            self._refuse(violations)
        return key or ""

    def token(self, last: int | str) -> str:
        return page_token(self._arguments, last) if isinstance(last, int) else page_token_after(self._arguments, last)

    @staticmethod
    def _refuse(violations: Violations) -> None:
        violations.add("page_token", "is not of this list with these arguments; start without one")


async def fill(target: Any, items: Iterable[_Item], set_item: Callable[[Any, _Item], None]) -> int:
    """Add items to a repeated field until the page is full by bytes (one item always fits); how many were added."""
    size = count = 0
    turn = Turn()
    for item in items:
        await turn.give()
        added = target.add()
        set_item(added, item)
        size += added.ByteSize() + 8
        if count and size > limits.MAX_PAGE_BYTES:
            del target[-1]
            break
        count += 1
    return count
