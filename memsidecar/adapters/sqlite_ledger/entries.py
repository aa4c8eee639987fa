"""Rows as entries, each checked against what was written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from memsidecar.adapters.sqlite_ledger import chain
from memsidecar.adapters.sqlite_ledger.failures import is_corrupt, unknown_codec
from memsidecar.domain.errors import LedgerDamaged
from memsidecar.domain.events import Entry
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import EventCodec

Row: TypeAlias = tuple[Any, ...]

# The order that the functions below take a row in.
COLUMNS = (
    "e.position, e.revision, e.recorded_at, e.subject, e.request_id, e.codec, e.payload_sha256, e.chain, "
    "iif(e.erased, NULL, e.payload)"
)


class EntryError(Exception):
    """An entry is not what was written."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def intact(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a cursor. Raises EntryError where the file itself cannot be read."""
    try:
        yield from rows
    except sqlite3.DatabaseError as error:
        if is_corrupt(error):
            raise EntryError("the file is damaged here") from error
        raise


def linked(row: Row, owner: bytes, previous: bytes) -> bool:
    """Whether a row's link follows from the link before it."""
    _, revision, recorded_at, subject, request_id, codec, sha256, link, _ = row
    try:
        return bool(chain.link(previous, owner, revision, recorded_at, codec, subject, request_id, sha256) == link)
    except UnicodeEncodeError:
        return False


def entry_from(row: Row, partition: Partition, owner: bytes, previous: bytes | None, codec: EventCodec) -> Entry:
    """The entry of a row, `previous` being the link before it, None when that row is missing.

    Raises EntryError; StoreUnavailable for an entry that is sound but of a codec that is not configured.
    """
    position, revision, recorded_at, subject, request_id, codec_id, sha256, _, payload = row
    if previous is None or not linked(row, owner, previous):
        raise EntryError("does not follow from the entry before it")
    if payload is None:
        return Entry(position, partition, revision, recorded_at, subject, None, request_id)
    if chain.payload_hash(payload) != sha256:
        raise EntryError("the payload has changed")
    if codec_id != codec.codec_id:
        raise unknown_codec(codec_id)
    try:
        event = codec.decode(payload, partition)
    except ValueError as error:
        raise EntryError("the payload is not an event") from error
    return Entry(position, partition, revision, recorded_at, subject, event, request_id)


def served(
    rows: Iterable[Row], check: Callable[[Row], Entry], place_of: Callable[[], tuple[str, int]]
) -> Sequence[Entry]:
    """The entries up to the first broken one. Raises LedgerDamaged when that is the first of all.

    `place_of` names the partition and the revision that `check` was, or would have been, looking at.
    """
    entries: list[Entry] = []
    try:
        for row in intact(rows):
            entries.append(check(row))  # noqa: PERF401 - what came before the damage must stay
    except EntryError as broken:
        if not entries:
            raise LedgerDamaged(*place_of()) from broken
    return entries
