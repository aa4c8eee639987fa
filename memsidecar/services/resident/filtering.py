"""Which rows meet a filter: exact, over columns and postings, without looking at records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.meeting import stored_states
from memsidecar.domain.memory import Kind, State
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Scope
from memsidecar.services.resident.columns import Columns, Strings
from memsidecar.services.resident.partition import Resident

Mask = NDArray[np.bool_]


def matching(resident: Resident, scope: Scope, wanted: Filter, now: int, known: int | None = None) -> Mask:
    """`mask[row]`: the row is a memory's newest version, in the scope, and meets every condition at `now`.

    `known` is when the store is read (default `now`): superseding that was due by then has happened, also for a
    question that was asked before.
    """
    columns = resident.columns
    mask = _state_and_kind(resident, wanted, now, now if known is None else max(now, known))
    if scope.agent:
        mask &= np.isin(columns["agent"], _numbers(columns.agents, ("", scope.agent)))
    if scope.session:
        mask &= np.isin(columns["session"], _numbers(columns.sessions, (scope.session,)))
    if wanted.sessions:
        mask &= np.isin(columns["session"], _numbers(columns.sessions, wanted.sessions))
    if wanted.exclude_sessions:
        mask &= ~np.isin(columns["session"], _numbers(columns.sessions, wanted.exclude_sessions))
    _at_least(mask, columns["created"], wanted.min_created)
    _below(mask, columns["created"], wanted.max_created)
    _at_least(mask, columns["said"], wanted.min_said)
    _below(mask, columns["said"], wanted.max_said)
    if wanted.valid_at is not None:
        _below(mask, columns["valid_from"], wanted.valid_at + 1)
        _at_least(mask, columns["valid_to"], wanted.valid_at + 1)
        # What was said later is nothing that there was then (`conflicts.chain.covers`).
        kind: Any = columns["kind"]
        said: Any = columns["said"]
        mask &= (kind != int(Kind.EPISODE)) | (said <= wanted.valid_at)
    # The columns are float32; so is the bound, or 0.7 would not be >= 0.7.
    _at_least(mask, columns["importance"], _single(wanted.min_importance))
    _at_least(mask, columns["confidence"], _single(wanted.min_confidence))
    for entity in wanted.entities:
        mask &= _rows_mask(mask, resident.lookup.about(entity))
    for key, value in wanted.labels.items():
        mask &= _rows_mask(mask, resident.lookup.labelled(key, value))
    return mask


def _state_and_kind(resident: Resident, wanted: Filter, now: int, known: int) -> Mask:
    columns = resident.columns
    live: Any = columns["live"]
    state: Any = columns["state"]
    states = stored_states(wanted)
    if not wanted.states and not wanted.kinds and wanted.valid_at is None:
        mask: Mask = np.array(columns["recallable"], dtype=np.bool_)
    else:
        # Expiry is a matter of time, not of what is stored: an active memory past its time is EXPIRED.
        mask = live & np.isin(state, [int(s) for s in states - {State.EXPIRED}])
        mask &= _of_kind(columns, wanted)
    waiting: Any = False
    if columns.last_superseding > known:
        # So is superseding: what another memory will supersede is ACTIVE until then.
        superseded: Any = columns["superseded"]
        waiting = superseded > known
        mask &= ~waiting
        if State.ACTIVE in states:
            mask |= waiting & _of_kind(columns, wanted)
    if columns.first_expiry <= now:
        expires: Any = columns["expires"]
        expired = live & ((state == int(State.ACTIVE)) | waiting) & (expires <= now)
        mask &= ~expired
        if State.EXPIRED in states:
            mask |= expired & _of_kind(columns, wanted)
    return mask


def _of_kind(columns: Columns, wanted: Filter) -> Mask:
    if wanted.kinds:
        return np.isin(columns["kind"], [int(k) for k in wanted.kinds])
    return ~np.asarray(columns["discovered"], dtype=np.bool_)


def _numbers(strings: Strings, wanted: Iterable[str]) -> list[int]:
    found = (strings.find(text) for text in wanted)
    return [number for number in found if number is not None]


def _single(bound: float | None) -> np.float32 | None:
    return None if bound is None else np.float32(bound)


def _at_least(mask: Mask, column: Any, bound: Any) -> None:
    if bound is not None:
        mask &= column >= bound


def _below(mask: Mask, column: Any, bound: Any) -> None:
    if bound is not None:
        mask &= column < bound


def _rows_mask(like: Mask, rows: NDArray[np.uint32]) -> Mask:
    mask = np.zeros_like(like)
    mask[rows] = True
    return mask
