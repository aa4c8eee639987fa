"""The claims in what a model has written, however it has wrapped them and wherever it broke off."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

# Beyond the longest answer that is asked for; what is longer goes round in circles.
_MOST_CHARS = 64_000
# Places where an answer may begin that are tried: each may be read to its end for nothing.
_MOST_STARTS = 12
_MOST_CLAIMS = 200
_DECODER = json.JSONDecoder()
_START = re.compile(r"[{\[]")
_LIST = re.compile(r'"claims"\s{0,20}:\s{0,20}\[')
_BETWEEN = re.compile(r"[\s,]*")


@dataclass(frozen=True, slots=True)
class Written:
    """`claims` are whatever stood in the list, of any type; None when there was no list. `whole`: its end was there."""

    claims: tuple[Any, ...] | None
    whole: bool


def written(content: str) -> Written:
    """A list of claims, alone or under "claims", with prose, a fence or thoughts around it; of one that breaks off,
    what is whole."""
    # What a model thinks before it answers may hold drafts.
    text = content[:_MOST_CHARS].rpartition("</think>")[2]
    empty: Written | None = None
    alone: list[Any] = []
    at = 0
    for _ in range(_MOST_STARTS):
        start = _START.search(text, at)
        if start is None:
            break
        value, end = _decoded(text, start.start())
        if end is None:
            at = start.end()
            continue
        found = _claims_of(value)
        if found:
            return Written(tuple(found[:_MOST_CLAIMS]), True)
        if found is not None:
            # An answer, or the empty list of an example; what follows tells.
            empty = Written((), True)
        elif isinstance(value, dict) and "evidence" in value:
            # One that stands alone, or the first of a list that has no end.
            alone.append(value)
        at = end
    return _broken(text) or (Written(tuple(alone), True) if alone else empty) or Written(None, False)


def _claims_of(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        claims = value.get("claims")
        return claims if isinstance(claims, list) else None
    if isinstance(value, list) and all(isinstance(each, dict) and "evidence" in each for each in value):
        return value
    return None


def _broken(text: str) -> Written | None:
    """The whole claims of a list that has no end."""
    start = _LIST.search(text)
    at = start.end() if start else None
    if at is None:
        # A list alone, not under a name.
        bare = re.match(r"\s*(?:```\w*\s*)?\[", text)
        if bare is None:
            return None
        at = bare.end()
    claims: list[Any] = []
    while len(claims) < _MOST_CLAIMS:
        begin = _BETWEEN.match(text, at)
        value, end = _decoded(text, begin.end() if begin else at)
        if end is None or not isinstance(value, dict):
            break
        claims.append(value)
        at = end
    return Written(tuple(claims), False) if claims else None


def _decoded(text: str, at: int) -> tuple[Any, int | None]:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, None
