"""The tables of the graph, and a memory as a row of one.

One node table a kind, not one `Memory` table: linking through tables of their own was measured 4 times faster, because
entities, which most edges lead to, are few. Every column is declared up front: a later ALTER forces a checkpoint.
No embeddings and no full-text index live here; they would make every checkpoint rewrite megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from memsidecar.domain.fold import Relation
from memsidecar.domain.memory import Entity, Episode, Fact, Kind, Memory, Preference, Procedure

SCHEMA_VERSION = 1

# An engine cannot bind a list of maps in which a column is None throughout, so an unset time is a number.
UNSET = -(1 << 62)

# The graph names a memory to a reader of it; the whole text is in the ledger.
_TEXT_LIMIT = 256

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
    Kind.FACT: {"statement": "STRING", "predicate": "STRING"},
    Kind.PREFERENCE: {"statement": "STRING", "topic": "STRING", "polarity": "DOUBLE"},
    Kind.ENTITY: {"name": "STRING", "type": "STRING"},
    Kind.EPISODE: {"text": "STRING", "title": "STRING", "speaker": "STRING", "start_time": "INT64"},
    Kind.PROCEDURE: {"statement": "STRING", "title": "STRING"},
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
        case Fact(statement=statement, predicate=predicate):
            row |= {"statement": _text(statement), "predicate": _text(predicate)}
        case Preference(statement=statement, topic=topic, polarity=polarity):
            row |= {"statement": _text(statement), "topic": _text(topic), "polarity": float(polarity)}
        case Entity(display_name=name, type=entity_type):
            row |= {"name": _text(name), "type": _text(entity_type)}
        case Episode(text=text, title=title, speaker=speaker, start_time=start):
            row |= {"text": _text(text), "title": _text(title), "speaker": _text(speaker), "start_time": _time(start)}
        case Procedure(statement=statement, title=title):
            row |= {"statement": _text(statement), "title": _text(title)}
        case _:
            assert_never(memory.body)
    return row


def _time(value: int | None) -> int:
    return UNSET if value is None else value


def _text(value: str) -> str:
    # A lone surrogate would make the engine refuse the whole batch, for ever.
    return value[:_TEXT_LIMIT].encode("utf-8", "replace").decode("utf-8")
