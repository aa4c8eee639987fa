"""Turns methods of the asyncio classes into blocking ones, with their types, signatures and docstrings."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from memsidecar_client._loop_thread import LoopThread
from memsidecar_client._pages import AsyncPages

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
F = TypeVar("F")
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Blocking(Generic[A_co]):
    """A blocking face of an asyncio object that lives in the loop thread."""

    def __init__(self, target: A_co, loop: LoopThread) -> None:
        self._target = target
        self._loop = loop


def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Blocking[A], P], R]:
    """The same method, waiting for its result."""

    @wraps(method)
    def call(self: Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(method(self._target, *args, **kwargs))

    return call


def immediate(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[Blocking[A], P], R]:
    """The same method, which waits for nothing, run where the object lives."""

    @wraps(method)
    async def there(target: A, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(target, *args, **kwargs)

    return blocking(there)


def opening(
    method: Callable[Concatenate[A, P], R], face: Callable[[R, LoopThread], F]
) -> Callable[Concatenate[Blocking[A], P], F]:
    """The same method, giving the blocking `face` of the object it makes."""

    @wraps(method)
    def call(self: Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> F:
        return face(method(self._target, *args, **kwargs), self._loop)

    return call


class Pages(Iterator[T], Generic[T]):
    """Iterates over a list's items, one call a page, made when the page is reached. Can be iterated once."""

    def __init__(self, pages: AsyncPages[T], loop: LoopThread) -> None:
        self._pages = pages
        self._loop = loop
        self._items: Iterator[T] = iter(())

    def __next__(self) -> T:
        # One hop to the loop thread a page, not an item.
        while True:
            for item in self._items:
                return item
            page = self._loop.run(self._pages.next_page())
            if page is None:
                raise StopIteration
            self._items = iter(page)
