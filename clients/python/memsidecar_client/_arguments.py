"""Wrong arguments become InvalidArgument with their names, for every call at one place.

What protobuf raises says neither which value it does not take nor of which field. So the arguments of a call that ended
that way are looked through, and only then: a call with good arguments pays for a `try`. Nothing has been sent when
a message cannot be made.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, Final, get_type_hints

from memsidecar_client._argument_types import misfit, parts
from memsidecar_client._errors import InvalidArgument
from memsidecar_client._pages import AsyncPages
from memsidecar_client._status_details import Violation

_RAISED: Final = (TypeError, AttributeError, ValueError)
_SECONDS: Final = ("timeout", "resume_timeout")
# The contract's whole numbers that a caller sets.
_INT32: Final = range(-(2**31), 2**31)


class Named:
    """Its public methods name the argument that is wrong."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in [*vars(cls).items()]:
            if inspect.isfunction(member) and not name.startswith("_"):
                setattr(cls, name, _named(member))

    def _set_before(self) -> Mapping[str, object]:
        """What earlier calls have set for this one, by the names of their arguments."""
        return {}


def invalid(path: str, problem: str) -> InvalidArgument:
    """The error of an argument, as the server words it of a field."""
    violations = (Violation(path, problem),)
    return InvalidArgument(f"{path}: {problem}", code="INVALID_ARGUMENT", reason="INVALID_FIELD", violations=violations)


def check_seconds(name: str, seconds: object) -> None:
    """Raises InvalidArgument for a time before now, which a call would take for one that has run out."""
    if isinstance(seconds, int | float) and not seconds >= 0:
        raise invalid(name, "must not be less than 0 seconds")


def _named(method: Callable[..., Any]) -> Callable[..., Any]:
    def translated(error: Exception, self: Named, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Exception:
        try:
            given = inspect.signature(method).bind(self, *args, **kwargs).arguments
        except TypeError:  # Python's own: an argument too many, or one missing
            return error
        given.pop("self", None)
        values = {**self._set_before(), **{name: value for name, value in given.items() if value is not None}}
        return next(_problems(error, values, _hints(method)), error)

    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def call(self: Named, /, *args: Any, **kwargs: Any) -> Any:
            _check_times(kwargs)
            try:
                return await method(self, *args, **kwargs)
            except _RAISED as error:
                if (better := translated(error, self, args, kwargs)) is not error:
                    raise better from error
                raise

        return call

    @wraps(method)
    def begin(self: Named, /, *args: Any, **kwargs: Any) -> Any:
        _check_times(kwargs)
        try:
            made = method(self, *args, **kwargs)
        except _RAISED as error:
            if (better := translated(error, self, args, kwargs)) is not error:
                raise better from error
            raise
        if isinstance(made, AsyncPages):
            # Its calls are made later, one a page.
            made.explain = lambda error: translated(error, self, args, kwargs)
        return made

    return begin


def _check_times(kwargs: Mapping[str, Any]) -> None:
    for name in _SECONDS:
        if name in kwargs:
            check_seconds(name, kwargs[name])


def _problems(error: Exception, values: Mapping[str, object], hints: Mapping[str, Any]) -> Iterator[InvalidArgument]:
    """What may have raised this error, likeliest first; none when it was something else."""
    if isinstance(error, UnicodeError):
        problem = "must be valid Unicode, without lone surrogates"
        found = [path for name, value in values.items() for path, part in parts(name, value) if _is_half(part)]
        # What an iterator has given cannot be looked at again.
        found += [name for name, value in values.items() if isinstance(value, Iterator)]
        yield from (invalid(path, problem) for path in found)
    elif isinstance(error, TypeError | AttributeError):
        for name, value in values.items():
            if wrong := misfit(name, value, hints.get(name, Any)):
                yield invalid(*wrong)
    elif str(error).startswith("Value out of range"):
        for name, value in values.items():
            for path, part in parts(name, value):
                if isinstance(part, int) and part not in _INT32:
                    yield invalid(path, f"must be from {_INT32.start} to {_INT32.stop - 1}")


def _is_half(part: object) -> bool:
    if isinstance(part, bytes):
        try:
            part.decode()
        except UnicodeError:
            return True
    if isinstance(part, str):
        try:
            part.encode()
        except UnicodeError:
            return True
    return False


def _hints(method: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return {**dict.fromkeys(("namespace", "user", "agent", "session"), str), **get_type_hints(method)}
    except NameError:  # a type that is imported for type checkers only
        return {}
