"""Puts a span around the calls of something, without its knowing. Used only where traces are collected."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from memsidecar.ports.tracing import Attributes, Tracer

T = TypeVar("T")


def traced(
    target: T,
    tracer: Tracer,
    names: Mapping[str, str],
    attributes: Attributes | None = None,
    *,
    counted: str = "",
    remote: bool = False,
) -> T:
    """What behaves as `target`, each call of the methods in `names` a span of the name given there.

    `attributes` go with each span; `counted` names one for the length of the first argument. `remote`: the calls wait
    for another process.
    """
    return cast(T, _Traced(target, tracer, names, attributes or {}, counted, remote))


class _Traced:
    def __init__(
        self,
        target: object,
        tracer: Tracer,
        names: Mapping[str, str],
        attributes: Attributes,
        counted: str,
        remote: bool,
    ) -> None:
        self._target = target
        for method, name in names.items():
            call = getattr(target, method)
            around = _around_awaited if inspect.iscoroutinefunction(call) else _around
            setattr(self, method, around(call, tracer, name, attributes, counted, remote))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


def _around(
    call: Callable[..., Any], tracer: Tracer, name: str, attributes: Attributes, counted: str, remote: bool
) -> Callable[..., Any]:
    @wraps(call)
    def called(*args: Any, **kwargs: Any) -> Any:
        with tracer.span(name, _counting(attributes, counted, args), remote=remote):
            return call(*args, **kwargs)

    return called


def _around_awaited(
    call: Callable[..., Awaitable[Any]], tracer: Tracer, name: str, attributes: Attributes, counted: str, remote: bool
) -> Callable[..., Awaitable[Any]]:
    @wraps(call)
    async def called(*args: Any, **kwargs: Any) -> Any:
        with tracer.span(name, _counting(attributes, counted, args), remote=remote):
            return await call(*args, **kwargs)

    return called


def _counting(attributes: Attributes, counted: str, args: tuple[Any, ...]) -> Attributes:
    return {**attributes, counted: len(args[0])} if counted else attributes
