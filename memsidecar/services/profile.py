"""Who the user is: the standing facts and preferences of a partition, whatever is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.memory import Fact, Kind, Memory, Preference, State
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Scope
from memsidecar.domain.text import entity_key
from memsidecar.services.resident import Resident
from memsidecar.services.resident.filtering import matching

_STANDING = frozenset({Kind.FACT, Kind.PREFERENCE})
# Facts about others stand between those of the user: so many are looked at for one that is wanted.
_LOOKED_AT = 2
# float32 from 0 to 1, read as an integer, orders as before and takes 30 bits.
_FLOAT_BITS = 30


def standing(resident: Resident, scope: Scope, wanted: Filter, now: int, limit: int) -> tuple[Memory, ...]:
    """At most `limit` of the user's own, by importance, then confidence, preferences before facts, the oldest first.

    Of `wanted` all but the kinds holds; without states only what is not disputed, and what is true at its `valid_at`,
    or now. Takes microseconds a thousand rows,
    and decodes no more than twice the limit.
    """
    kinds = _STANDING & wanted.kinds if wanted.kinds else _STANDING
    if not kinds or not resident.rows or limit <= 0:
        return ()
    states = wanted.states or frozenset({State.ACTIVE})
    valid_at = now if wanted.valid_at is None else wanted.valid_at
    asked = replace(wanted, kinds=kinds, states=states, valid_at=valid_at)
    mask = matching(resident, replace(scope, session=""), asked, now)
    own = _names_of(resident, scope.user)
    found: list[Memory] = []
    for row in _first(resident, np.flatnonzero(mask), limit * _LOOKED_AT).tolist():
        memory = resident.records.get(row)
        # Of now: what was superseded is not what holds, whatever interval it gives.
        if wanted.valid_at is None and memory.state_at(now) not in states:
            continue
        if isinstance(memory.body, Fact | Preference) and memory.body.subject in own:
            found.append(memory)
            if len(found) == limit:
                break
    return tuple(found)


def _names_of(resident: Resident, user: str) -> frozenset[str]:
    """Subjects that mean the user: none, and the entity of the user's name."""
    key = entity_key(user)
    entity = resident.entity(key) if key else None
    return frozenset({"", entity} if entity else {""})


def _first(resident: Resident, rows: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """The first so many rows in order, without sorting them all."""
    columns: Any = resident.columns
    worth = columns["importance"][rows].view(np.int32).astype(np.int64) << (_FLOAT_BITS + 1)
    worth |= columns["confidence"][rows].view(np.int32).astype(np.int64) << 1
    worth |= columns["kind"][rows] == int(Kind.PREFERENCE)
    births = columns["birth"][rows]
    if len(rows) > count:
        # Of those that are worth as much as the last one, which may be nearly all, the oldest are taken.
        last = np.partition(worth, len(rows) - count)[len(rows) - count]
        above, equal = np.flatnonzero(worth > last), np.flatnonzero(worth == last)
        room = count - len(above)
        if len(equal) > room:
            equal = equal[np.argpartition(births[equal], room - 1)[:room]]
        chosen = np.concatenate([above, equal])
        rows, worth, births = rows[chosen], worth[chosen], births[chosen]
    return rows[np.lexsort((births, -worth))]
