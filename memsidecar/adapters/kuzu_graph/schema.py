"""The tables of the graph, and a memory as a row of one.

One node table a kind, not one `Memory` table: linking through tables of their own was measured 4 times faster, because
entities, which most edges lead to, are few. Every column is declared up front: a later ALTER forces a checkpoint.
No embeddings and no full-text index live here; they would make every checkpoint rewrite megabytes. No text either:
neither engine overwrites what a purge deletes, so words would stay in the file until the graph is made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memsidecar.domain.fold import Relation
from memsidecar.domain.memory import Episode, Kind, Memory, Preference

SCHEMA_VERSION = 2

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

RELATIONS: tuple[str, ...] = tuple(relation.value for relation in Relation)

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

# Declared for the rules that decide about conflicts; they carry why and since when.
# To the engine each pair of tables is a table of its own (room in the file, time at a checkpoint): none without a use.
_LIKE = tuple((table, table) for table in TABLES.values())
_JUDGED = {
    "SUPERSEDES": _LIKE,
    "CONTRADICTS": _LIKE,
    "SUPPORTS": tuple((source, target) for source in TABLES.values() for target in ("Fact", "Preference", "Procedure")),
    "RELATED": (("Entity", "Entity"),),
}
_JUDGED_COLUMNS = "reason STRING, rule STRING, recorded_at INT64, valid_from INT64, valid_to INT64"


def definitions() -> tuple[str, ...]:
    """The statements that make an empty database into an empty graph."""
    tables = TABLES.values()
    anywhere = _pairs((source, target) for source in tables for target in tables)
    owned = _pairs(("User", table) for table in tables)
    return (
        "CREATE NODE TABLE Applied(position INT64 PRIMARY KEY)",
        "CREATE NODE TABLE User(key STRING PRIMARY KEY, namespace STRING, id STRING)",
        *(
            f"CREATE NODE TABLE {table}(key STRING PRIMARY KEY, "
            + ", ".join(f"{name} {column}" for name, column in {**_COMMON, **_OWN[kind]}.items())
            + ")"
            for kind, table in TABLES.items()
        ),
        f"CREATE REL TABLE OWNS({owned})",
        "CREATE REL TABLE PREFERS(FROM User TO Preference)",
        *(f"CREATE REL TABLE {relation}({anywhere})" for relation in RELATIONS),
        *(f"CREATE REL TABLE {relation}({_pairs(pairs)}, {_JUDGED_COLUMNS})" for relation, pairs in _JUDGED.items()),
    )


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"FROM {source} TO {target}" for source, target in pairs)


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
