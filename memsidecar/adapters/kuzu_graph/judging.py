"""Questions about ties and conflicts. Each starts at keys of one partition."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.adapters.kuzu_graph.driver import Link, Row
from memsidecar.adapters.kuzu_graph.keys import memory_key, partition_key
from memsidecar.adapters.kuzu_graph.schema import TABLES, TIE_COLUMNS, UNSET, ties_at
from memsidecar.domain.conflict import ConflictState, Policy, Resolution, Rule
from memsidecar.domain.fold import JUDGEMENTS, Relation
from memsidecar.domain.scope import Partition
from memsidecar.domain.ties import Tie
from memsidecar.ports.graph import GraphConflict

_TIE = ", ".join(f"e.{name}" for name in TIE_COLUMNS)
_COLUMNS = f"label(s), s.id, label(e), t.id, t.valid_from, t.valid_to, {_TIE}"
_CONFLICTS = (
    "MATCH (c:Conflict) WHERE c.partition = $partition AND c.id > $after "
    "RETURN c.id AS id, c.state, c.version ORDER BY id LIMIT $limit"
)


def ties(link: Link, partition: Partition, memory_ids: Sequence[str]) -> list[Tie]:
    owner = partition_key(partition)
    keys = [memory_key(owner, memory_id) for memory_id in dict.fromkeys(memory_ids)]
    found: set[Tie] = set()
    for table in TABLES.values():
        for outward, (here, there), arrow in ((True, "st", "-[e:{}]->"), (False, "ts", "<-[e:{}]-")):
            names = "|".join(relation.value for relation in ties_at(table, outward))
            if names:
                answer = f"{arrow.format(names)}({there}) RETURN {_COLUMNS}"
                found.update(map(_tie, _ask(link, f"({here}:{table} {{key: ", answer, keys)))
    return sorted(found, key=_order)


def conflicts(link: Link, partition: Partition, after: str, limit: int) -> list[GraphConflict]:
    owner = partition_key(partition)
    rows = link.prepared(_CONFLICTS, {"partition": owner, "after": after, "limit": max(limit, 0)})
    return [GraphConflict(conflict_id, ConflictState(state), version) for conflict_id, state, version in rows]


def _ask(link: Link, start: str, answer: str, keys: Sequence[str]) -> list[Row]:
    if len(keys) == 1:
        return link.prepared(f"MATCH {start}$k}}){answer}", {"k": keys[0]})
    return link.prepared(f"UNWIND $k AS k MATCH {start}k}}){answer}", {"k": list(keys)}) if keys else []


def _tie(row: Row) -> Tie:
    table, source, name, target, target_from, target_to, drawn_by, recorded_at, *rest = row
    valid_from, valid_to, negated, rule, policy, resolution = rest
    relation = Relation(name)
    if relation in JUDGEMENTS:
        valid_from, valid_to = target_from, target_to
    return Tie(
        "" if table == "User" else source,
        relation,
        target,
        drawn_by,
        recorded_at,
        None if valid_from == UNSET else valid_from,
        None if valid_to == UNSET else valid_to,
        bool(negated),
        Rule(rule) if rule else None,
        Policy(policy) if policy else None,
        Resolution(resolution),
    )


def _order(tie: Tie) -> tuple[str, str, str, str]:
    return (tie.relation.value, tie.source, tie.target, tie.drawn_by)
