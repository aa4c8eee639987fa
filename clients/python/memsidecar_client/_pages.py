"""Lists that arrive page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

# Takes a page token, gives the page and the token of the next one, empty on the last page.
Fetch = Callable[[str], Awaitable[tuple[Sequence[T], str]]]


class AsyncPages(AsyncIterator[T], Generic[T]):
    """Iterates over a list's items, one call a page, made when the page is reached. Can be iterated once."""

    def __init__(self, fetch: Fetch[T]) -> None:
        self._fetch = fetch
        self._token: str | None = ""
        self._page: Sequence[T] = ()
        self._position = 0
        self.explain: Callable[[Exception], Exception] = lambda error: error
        """Gives what a page's call could not be made for its better error."""

    async def next_page(self) -> Sequence[T] | None:
        """The next page whole, possibly empty; None after the last one."""
        if self._token is None:
            return None
        try:
            page, token = await self._fetch(self._token)
        except (TypeError, ValueError) as error:
            if (better := self.explain(error)) is not error:
                raise better from error
            raise
        self._token = token or None
        return page

    async def __anext__(self) -> T:
        while self._position >= len(self._page):
            page = await self.next_page()
            if page is None:
                raise StopAsyncIteration
            self._page, self._position = page, 0
        item = self._page[self._position]
        self._position += 1
        return item
