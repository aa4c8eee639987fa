"""Where a value does not fit its annotation. As lenient as protobuf and duck typing are: a number for a float, any
iterable for a sequence; what it does not understand fits."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

_SIMPLE: Final[Mapping[Any, tuple[type, ...]]] = {
    # protobuf takes bytes of UTF-8 for a text.
    str: (str, bytes),
    bool: (int,),
    int: (int,),
    datetime: (datetime,),
    timedelta: (timedelta,),
}
_MANY: Final = (list, tuple, set, frozenset)

Wrong = tuple[str, str]
"""The path of a value, and what is wrong with it."""


def parts(path: str, value: object) -> Iterator[tuple[str, object]]:
    """The value and all that is in it, each with its path. What can be iterated over once only is left alone."""
    yield path, value
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield f"{path} (a key)", key
            yield from parts(f"{path}[{key!a}]", held)
    elif isinstance(value, _MANY):
        for i, held in enumerate(value):
            yield from parts(f"{path}[{i}]", held)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from parts(f"{path}.{each.name}", getattr(value, each.name))


def misfit(path: str, value: object, hint: Any) -> Wrong | None:
    """What of the value is not what the annotation says; None when nothing is."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _of_union(path, value, get_args(hint))
    if origin is not None and isinstance(origin, type):
        return _of_container(path, value, origin, get_args(hint))
    if hint in _SIMPLE:
        return (
            None
            if isinstance(value, _SIMPLE[hint]) or (hasattr(value, "__index__") and hint is int)
            else _not(path, value, hint)
        )
    if hint is float:
        return None if hasattr(value, "__float__") or hasattr(value, "__index__") else _not(path, value, hint)
    if hint is None or hint is type(None):
        return None if value is None else _not(path, value, hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return _of_dataclass(path, value, hint)
    return None


def _of_union(path: str, value: object, hints: Sequence[Any]) -> Wrong | None:
    wrong = [misfit(path, value, each) for each in hints]
    if None in wrong:
        return None
    # What is wrong inside says more than that no member fits.
    inside = next((each for each in wrong if each and each[0] != path), None)
    return inside or _not(path, value, *hints)


def _of_container(path: str, value: object, origin: type, arguments: Sequence[Any]) -> Wrong | None:
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return _not(path, value, Mapping)
        of_key, of_value = arguments if len(arguments) == 2 else (Any, Any)
        for key, held in value.items():
            if wrong := misfit(f"{path} (a key)", key, of_key) or misfit(f"{path}[{key!a}]", held, of_value):
                return wrong
        return None
    if not issubclass(origin, Iterable):
        return None
    if not hasattr(value, "__iter__"):
        return _not(path, value, origin)
    of_item = arguments[0] if arguments else Any
    held_values = value if isinstance(value, _MANY) else ()
    return next((wrong for i, held in enumerate(held_values) if (wrong := misfit(f"{path}[{i}]", held, of_item))), None)


def _of_dataclass(path: str, value: object, kind: type) -> Wrong | None:
    if not isinstance(value, kind):
        return _not(path, value, kind)
    try:
        hints = get_type_hints(kind)
    except NameError:  # a type that is imported for type checkers only
        return None
    each = ((f"{path}.{name}", getattr(value, name, None), hint) for name, hint in hints.items())
    return next((wrong for name, held, hint in each if (wrong := misfit(name, held, hint))), None)


def _not(path: str, value: object, *wanted: Any) -> Wrong:
    names = [str(getattr(each, "__name__", each)) for each in wanted if each is not type(None)]
    return path, f"must be {' or '.join(names)}, not {type(value).__name__}"
