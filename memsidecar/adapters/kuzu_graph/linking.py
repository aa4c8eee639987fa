"""Edges of a batch: what is there is compared with what is drawn, and only the difference is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from memsidecar.adapters.kuzu_graph.arcs import Arc
from memsidecar.adapters.kuzu_graph.driver import Parameters, Row
from memsidecar.adapters.kuzu_graph.keys import bare_key, conflict_end, is_conflict, is_user, user_end
from memsidecar.adapters.kuzu_graph.schema import (
    INVOLVES,
    KINDS,
    RELATIONS,
    TABLES,
    TIE_COLUMNS,
    may_join,
    ties_at,
)
from memsidecar.adapters.kuzu_graph.statements import EACH_ROW, Statements
from memsidecar.domain.fold import JUDGEMENTS, Relation
from memsidecar.domain.memory import Kind

# Up to so many edges, finding each by its two keys is cheaper than the pass over all edges that UNWIND is planned as.
_UNLINKED_SINGLY = 200
_ISSUING = "|".join(RELATIONS)
_JUDGING = "|".join(sorted(relation.value for relation in JUDGEMENTS))
_TIE = ", ".join(f"e.{name}" for name in TIE_COLUMNS)

# (relation, table of the source, table of the target)
_Pair = tuple[str, str, str]


class Linking:
    """Reads and writes edges. `kinds` are kinds by memory key, and learn those of the ends of what is read."""

    def __init__(self, statements: Statements, kinds: dict[str, Kind]) -> None:
        self._statements = statements
        self._kinds = kinds

    def drawn_by_memories(self, keys: Mapping[Kind, Sequence[str]]) -> set[Arc]:
        """All that memories draw now."""
        arcs: set[Arc] = set()
        for kind, owners in keys.items():
            table = TABLES[kind]
            answer = f"-[e:{_ISSUING}]->(b) RETURN a.key, label(e), b.key, label(b)"
            for source, relation, target, other in self._each_key(f"(a:{table} {{key: ", answer, owners):
                arcs.add(Arc(source, relation, target))
                self._kinds[target] = KINDS[other]
            inward = "|".join(
                r.value for r in ties_at(table, outward=False) if r not in (*JUDGEMENTS, Relation.RELATED)
            )
            if inward:
                answer = f"<-[e:{inward}]-(a) RETURN a.key, label(a), b.key, label(e), {_TIE}"
                for source, other, target, relation, *columns in self._each_key(f"(b:{table} {{key: ", answer, owners):
                    arcs.add(Arc(self._end(source, other), relation, target, *columns))
        return arcs | self.related_by(keys.get(Kind.FACT, ()))

    def related_by(self, facts: Sequence[str]) -> set[Arc]:
        """The ties between others that facts draw now: found from their subjects, which they are about."""
        path = "-[:ABOUT]->(a:Entity)-[e:RELATED]->(b:Entity)"
        answer = f"{path} WHERE e.drawn_by = f.id RETURN DISTINCT a.key, b.key, {_TIE}"
        arcs = set()
        for source, target, *columns in self._each_key("(f:Fact {key: ", answer, facts):
            self._kinds[source] = self._kinds[target] = Kind.ENTITY
            arcs.add(Arc(source, Relation.RELATED.value, target, *columns))
        return arcs

    def drawn_by_conflicts(self, keys: Sequence[str]) -> set[Arc]:
        """All that conflicts, by the keys of their nodes, draw now."""
        arcs = set()
        answer = f"-[:{INVOLVES}]->(a) RETURN c.key, a.key, label(a)"
        for conflict, target, table in self._each_key("(c:Conflict {key: ", answer, keys):
            arcs.add(Arc(conflict_end(conflict), INVOLVES, target))
            self._kinds[target] = KINDS[table]
        answer = (
            f"-[:{INVOLVES}]->(a)-[e:{_JUDGING}]->(b) WHERE e.drawn_by = c.id "
            f"RETURN DISTINCT a.key, label(a), label(e), b.key, label(b), {_TIE}"
        )
        for source, first, relation, target, second, *columns in self._each_key("(c:Conflict {key: ", answer, keys):
            self._kinds[source], self._kinds[target] = KINDS[first], KINDS[second]
            arcs.add(Arc(source, relation, target, *columns))
        return arcs

    def link(self, arcs: Iterable[Arc]) -> None:
        """Draw edges whose ends are there; those that the graph has no table for are left out."""
        missing: dict[_Pair, list[Parameters]] = defaultdict(list)
        for arc in arcs:
            pair = self._pair(arc)
            if not may_join(*pair):
                continue
            row: Parameters = {"a": bare_key(arc.source), "b": arc.target}
            if arc.drawn_by:
                row |= zip(TIE_COLUMNS, arc[3:], strict=True)
            missing[pair].append(row)
        for (relation, a, b), rows in missing.items():
            names = [name for name in rows[0] if name not in ("a", "b")]
            one = ", ".join(f"{name}: ${name}" for name in names)
            many = ", ".join(f"{name}: r.{name}" for name in names)
            carried = f"i, r.a AS x, r.b AS y MATCH (a:{a}) WHERE a.key = x WITH i, a, y"
            # Written with WITH and WHERE, kuzu joins by hash; with keys inside MATCH it multiplies both tables.
            self._statements.each(
                f"MATCH (a:{a} {{key: $a}}), (b:{b} {{key: $b}}) CREATE (a)-[:{relation} {{{one}}}]->(b)",
                f"{EACH_ROW} WITH {carried} MATCH (b:{b}) WHERE b.key = y CREATE (a)-[:{relation} {{{many}}}]->(b)",
                rows,
            )

    def unlink(self, arcs: Iterable[Arc]) -> None:
        stale: dict[_Pair, list[Parameters]] = defaultdict(list)
        for arc in arcs:
            row: Parameters = {"a": bare_key(arc.source), "b": arc.target}
            if arc.drawn_by:
                row["drawn_by"] = arc.drawn_by
            stale[self._pair(arc)].append(row)
        for (relation, a, b), rows in stale.items():
            tied = "drawn_by" in rows[0]
            self._statements.each(
                f"MATCH (a:{a} {{key: $a}})-[e:{relation}]->(b:{b} {{key: $b}}) "
                f"{'WHERE e.drawn_by = $drawn_by ' if tied else ''}DELETE e",
                f"{EACH_ROW} WITH r.a AS x, r.b AS y{', r.drawn_by AS d' if tied else ''} "
                f"MATCH (a:{a}) WHERE a.key = x WITH a, y{', d' if tied else ''} "
                f"MATCH (a)-[e:{relation}]->(b:{b}) WHERE b.key = y{' AND e.drawn_by = d' if tied else ''} DELETE e",
                rows,
                _UNLINKED_SINGLY,
            )

    def _end(self, key: str, table: str) -> str:
        if table == "User":
            return user_end(key)
        self._kinds[key] = KINDS[table]
        return key

    def _pair(self, arc: Arc) -> _Pair:
        if is_user(arc.source):
            source = "User"
        elif is_conflict(arc.source):
            source = "Conflict"
        else:
            source = TABLES[self._kinds[arc.source]]
        return arc.relation, source, TABLES[self._kinds[arc.target]]

    def _each_key(self, start: str, answer: str, keys: Sequence[str]) -> list[Row]:
        """Ask the same of each key; `start` is a node pattern up to its key."""
        one, many = f"MATCH {start}$k}}){answer}", f"UNWIND $k AS k MATCH {start}k}}){answer}"
        return self._statements.ask(one, many, keys)
