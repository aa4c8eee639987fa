"""The tables of the graph, and a memory as a row of one.

One node table a kind, not one `Memory` table: linking through tables of their own was measured 4 times faster, because
entities, which most edges lead to, are few. Every column is declared up front: a later ALTER forces a checkpoint.
No embeddings and no full-text index live here; they would make every checkpoint rewrite megabytes. No text either:
neither engine overwrites what a purge deletes, so words would stay in the file until the graph is made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.fold import ISSUING, Relation
from memsidecar.domain.memory import Episode, Kind, Memory, Preference
from memsidecar.domain.ties import ENDS

SCHEMA_VERSION = 3

# An engine cannot bind a list of maps in which a column is None throughout, so an unset time is a number.
UNSET = -(1 << 62)

TABLES: Mapping[Kind, str] = {
    Kind.FACT: "Fact",
    Kind.PREFERENCE: "Preference",
    Kind.ENTITY: "Entity",
    Kind.EPISODE: "Episode",
    Kind.PROCEDURE: "Procedure",
}
KINDS: Mapping[str, Kind] = {table: kind for kind, table in TABLES.items()}

# What issues from a memory.
RELATIONS: tuple[str, ...] = tuple(relation.value for relation in ISSUING)
# Conflict -> its memories: how what a conflict drew is found. No relation of the port.
INVOLVES = "INVOLVES"
_JUDGED = ("Fact", "Preference", "Entity")

_COMMON = {
    "partition": "STRING",
    "id": "STRING",
    "state": "INT64",
    "version": "INT64",
    "created_at": "INT64",
    "updated_at": "INT64",
    "valid_from": "INT64",
    "valid_to": "INT64",
    "superseded_at": "INT64",
    "expires_at": "INT64",
    "importance": "DOUBLE",
    "confidence": "DOUBLE",
}
_OWN: Mapping[Kind, Mapping[str, str]] = {
    Kind.FACT: {},
    Kind.PREFERENCE: {"polarity": "DOUBLE"},
    Kind.ENTITY: {},
    Kind.EPISODE: {"start_time": "INT64"},
    Kind.PROCEDURE: {},
}
COLUMNS: Mapping[Kind, tuple[str, ...]] = {kind: (*_COMMON, *_OWN[kind]) for kind in Kind}

# Numbers and ids only: see above. What a tie says in words is in the record that draws it.
TIE_COLUMNS: Mapping[str, str] = {
    "drawn_by": "STRING",
    "recorded_at": "INT64",
    "valid_from": "INT64",
    "valid_to": "INT64",
    "negated": "INT64",
    "rule": "INT64",
    "policy": "INT64",
    "resolution": "INT64",
}
CONFLICT_COLUMNS: Mapping[str, str] = {"partition": "STRING", "id": "STRING", "version": "INT64", "state": "INT64"}


def table_of(kind: Kind | None) -> str:
    """The node table of a kind; None is the user."""
    return "User" if kind is None else TABLES[kind]


def may_join(relation: str, source: str, target: str) -> bool:
    """Whether there may be such an edge from one table to another."""
    if relation == INVOLVES:
        return target in _JUDGED
    return relation in RELATIONS or target in _TIED[relation, source]


def ties_at(table: str, outward: bool) -> tuple[Relation, ...]:
    """The ties that a node of a table may have in one direction: the engine refuses to look for others."""
    return tuple(
        relation
        for relation, ends in ENDS.items()
        if any(table_of(source if outward else target) == table for source, target in ends)
    )


def definitions() -> tuple[str, ...]:
    """The statements that make an empty database into an empty graph."""
    tables = TABLES.values()
    anywhere = _pairs((source, target) for source in tables for target in tables)
    owned = _pairs(("User", table) for table in tables)
    return (
        "CREATE NODE TABLE Applied(position INT64 PRIMARY KEY)",
        "CREATE NODE TABLE User(key STRING PRIMARY KEY, namespace STRING, id STRING)",
        *(
            f"CREATE NODE TABLE {table}(key STRING PRIMARY KEY, " + _columns({**_COMMON, **_OWN[kind]}) + ")"
            for kind, table in TABLES.items()
        ),
        f"CREATE NODE TABLE Conflict(key STRING PRIMARY KEY, {_columns(CONFLICT_COLUMNS)})",
        f"CREATE REL TABLE OWNS({owned})",
        *(f"CREATE REL TABLE {relation}({anywhere})" for relation in RELATIONS),
        f"CREATE REL TABLE {INVOLVES}({_pairs(('Conflict', table) for table in _JUDGED)})",
        # To the engine each pair of tables is a table of its own (room in the file, time at a checkpoint): none without
        # a use.
        *(
            f"CREATE REL TABLE {relation.value}("
            f"{_pairs(sorted((table_of(a), table_of(b)) for a, b in ends))}, {_columns(TIE_COLUMNS)})"
            for relation, ends in ENDS.items()
        ),
    )


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"FROM {source} TO {target}" for source, target in pairs)


def _columns(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {column}" for name, column in columns.items())


_TIED: Mapping[tuple[str, str], frozenset[str]] = {
    (relation.value, source): frozenset(table_of(b) for a, b in ENDS.get(relation, ()) if table_of(a) == source)
    for relation in Relation
    for source in ("User", "Conflict", *TABLES.values())
}


def conflict_row(conflict: Conflict, key: str, partition: str) -> dict[str, str | int | float]:
    """The columns of a conflict's node and its key."""
    return {
        "key": key,
        "partition": partition,
        "id": conflict.id,
        "version": conflict.version,
        "state": int(conflict.state),
    }


def row_of(memory: Memory, key: str, partition: str) -> dict[str, str | int | float]:
    """The columns of a memory's node, its key and its owner's key; no value is None."""
    row: dict[str, str | int | float] = {
        "key": key,
        "partition": partition,
        "id": memory.id,
        "state": int(memory.state),
        "version": memory.version,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "valid_from": _time(memory.valid_from),
        "valid_to": _time(memory.valid_to),
        "superseded_at": _time(memory.superseded_at),
        "expires_at": _time(memory.expires_at),
        "importance": float(memory.importance),
        "confidence": float(memory.confidence),
    }
    match memory.body:
        case Preference(polarity=polarity):
            row["polarity"] = float(polarity)
        case Episode(start_time=start):
            row["start_time"] = _time(start)
        case _:
            pass
    return row


def _time(value: int | None) -> int:
    return UNSET if value is None else value
