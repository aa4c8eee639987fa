"""Which updates and contradictions the rules link, and which they should not have, over the turns of data sets.

    python -m tests.quality.conflicts DATA.jsonl ... [--show] [--recall CACHE]

Goes through a sample's turns in order, extracts, and links by slot: of an update the older turn is superseded, of a
contradiction both are flagged. With --recall it also asks the questions in this process (embeddings are kept in CACHE)
and says what an answer is worth when the newer of two linked turns stands before the older, or the older is marked.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from memsidecar.domain.claims import Claim, Manner
from memsidecar.domain.extraction.experience import experience_claims
from memsidecar.domain.extraction.quantities import quantity_claims
from memsidecar.domain.memory import Fact, Memory
from memsidecar.domain.scope import Scope
from memsidecar.domain.slot_words import Rarity, content, rarity_among
from memsidecar.domain.slots import (
    BEARS,
    EXPERIENCE,
    OPPOSED,
    SAME,
    Slot,
    bears_on,
    opposed,
    same_slot,
    same_value,
    slot_of,
)
from memsidecar.domain.tokens import tokens
from tests.quality.inprocess import InProcess, ndcg_at_10, turns_of
from tests.quality.questions import load

# Of one denial, the statements that contradict it most; more are not told.
MOST = 8


@dataclass(frozen=True, slots=True)
class Stated:
    turn: str
    order: int
    claim: Claim
    slot: Slot


@dataclass(frozen=True, slots=True)
class Link:
    older: Stated
    newer: Stated
    sure: float


def memory_of(claim: Claim, speaker: str) -> Memory:
    """A claim as it is stored; whose it is stands in for the entity's id."""
    fact = Fact(
        claim.statement,
        f"{speaker} {claim.subject}".strip().lower(),
        claim.attribute,
        object_text=claim.value,
        negated=claim.negated,
    )
    return Memory("", Scope("", ""), fact, 0, 0)


def stated(turns: list[dict[str, Any]]) -> Iterator[Stated]:
    for order, turn in enumerate(turns):
        if turn.get("speaker") != "assistant":
            for claim in [*quantity_claims(turn["text"]), *experience_claims(turn["text"])]:
                slot = slot_of(memory_of(claim, turn.get("speaker") or ""))
                if slot is not None:
                    yield Stated(turn["id"], order, claim, slot)


def rarity_in(turns: list[dict[str, Any]]) -> Rarity:
    """How rare stems are in what was said."""
    said = [turn for turn in turns if turn.get("speaker") != "assistant"]
    often = Counter(stem for turn in said for stem in content(turn["text"]))
    return rarity_among(len(said), often.__getitem__)


def updates(said: list[Stated], rarity: Rarity) -> list[Link]:
    """Each claim with those before it of its slot that say otherwise and were not replaced yet."""
    links: list[Link] = []
    gone: set[int] = set()
    families: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, new in enumerate(said):
        if new.slot.family == EXPERIENCE:
            continue
        family = families[new.slot.subject, new.slot.family]
        changed = new.claim.manner is not Manner.STATED
        sure = {j: same_slot(said[j].slot, new.slot, changed=changed, rarity=rarity) for j in family}
        otherwise = [j for j, s in sure.items() if s >= SAME and not same_value(said[j].slot, new.slot)]
        if not any(is_echo(said[j], new, rarity) for j in family if j in gone):
            replaced = [j for j in otherwise if j not in gone and said[j].turn != new.turn]
            links += [Link(said[j], new, sure[j]) for j in replaced]
            gone.update(replaced)
        family.append(i)
    return links


def is_echo(old: Stated, new: Stated, rarity: Rarity) -> bool:
    """Whether the new one tells again, without a word that it is so now, what was replaced already."""
    if not same_value(old.slot, new.slot) or same_slot(old.slot, new.slot, changed=True, rarity=rarity) < SAME:
        return False
    before = [s.slot.quantity.before if s.slot.quantity is not None else None for s in (old, new)]
    return new.claim.manner is Manner.STATED or (before[0] is not None and before[0] == before[1])


def contradictions(said: list[Stated], rarity: Rarity) -> list[Link]:
    done = [s for s in said if s.claim.attribute == EXPERIENCE and not s.claim.negated]
    links: list[Link] = []
    for never in said:
        if never.claim.attribute == EXPERIENCE and never.claim.negated:
            found = [(opposed(never.slot, other.slot, rarity=rarity), other) for other in done]
            best: dict[str, Link] = {}
            for sure, other in sorted(found, key=lambda f: -f[0]):
                if sure >= OPPOSED and other.turn not in best and len(best) < MOST:
                    best[other.turn] = Link(other, never, sure)
            links += best.values()
    return links


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.quality.conflicts", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--show", action="store_true", help="print each link")
    parser.add_argument("--recall", type=Path, metavar="CACHE", help="ask the questions, too")
    options = parser.parse_args()
    for path in options.data:
        samples, questions = load(path)
        linked = {sample: Linked.of(turns) for sample, turns in samples.items()}
        if options.show:
            for found in linked.values():
                for link in [*found.updates, *found.contradictions]:
                    print(described(link))
        report(path.stem, linked, questions, sum(map(len, samples.values())))
        if options.recall:
            ranked = asyncio.run(recalled(path, options.recall))
            for order in Order:
                print(f"  {order:8}", measured(order, ranked, linked, questions))
    return 0


@dataclass(frozen=True, slots=True)
class Linked:
    """The links of one sample."""

    updates: list[Link]
    contradictions: list[Link]

    @classmethod
    def of(cls, turns: list[dict[str, Any]]) -> Linked:
        said, rarity = list(stated(turns)), rarity_in(turns)
        return cls(updates(said, rarity), contradictions(said, rarity))


def described(link: Link) -> str:
    lines = [f"{link.sure:.2f} {link.newer.slot.family}"]
    for name, side in (("OLD", link.older), ("NEW", link.newer)):
        claim = side.claim
        lines.append(f"{name} {side.turn} [{claim.attribute} | {claim.value} | {claim.manner.name}] {claim.statement}")
    return "\n    ".join(lines)


def report(name: str, linked: dict[str, Linked], questions: list[dict[str, Any]], turns: int) -> None:
    """Which of the pairs that the data set knows are linked, and which turns of other questions are superseded."""
    replaced = {link.older.turn for found in linked.values() for link in found.updates}
    print(
        f"{name}: {sum(len(found.updates) for found in linked.values())} updates,",
        f"{sum(len(found.contradictions) for found in linked.values())} contradictions, {turns} turns,",
        f"{len(replaced)} superseded ({100 * len(replaced) / turns:.1f} %)",
    )
    changed = [q for q in questions if q.get("stale")]
    due = {turn for q in changed for turn in q["stale"]}
    tell("update pairs", changed, [q for q in changed if joins(linked[q["sample"]].updates, q["stale"], q["evidence"])])
    contrary = [q for q in questions if q.get("conflict")]
    tell(
        "contradiction pairs",
        contrary,
        [q for q in contrary if joins(linked[q["sample"]].contradictions, *q["conflict"])],
    )
    others = [q for q in questions if not q.get("stale") and q["evidence"]]
    if others:
        every = [q for q in others if replaced & {*q["evidence"]}]
        asked = [q for q in others if {link.older.turn for link in about(linked, q)} & {*q["evidence"]}]
        wrong = [q for q in asked if ({link.older.turn for link in about(linked, q)} - due) & {*q["evidence"]}]
        print(
            f"  other questions with a superseded gold turn {len(every)} of {len(others)};",
            f"about what changed {len(asked)}, of them not stale by the data set {len(wrong)}",
        )


def tell(what: str, questions: list[dict[str, Any]], hit: list[dict[str, Any]]) -> None:
    if questions:
        missed = " ".join(q["id"] for q in questions if q not in hit)
        print(f"  {what} linked {len(hit)} of {len(questions)}; missed: {missed or 'none'}")


def joins(links: list[Link], one: list[str], other: list[str]) -> bool:
    pairs = {(link.older.turn, link.newer.turn) for link in links}
    return any((a, b) in pairs or (b, a) in pairs for a in one for b in other)


def about(linked: dict[str, Linked], question: dict[str, Any]) -> list[Link]:
    """The updates that a question is about."""
    asked = frozenset(tokens(question["question"]))
    links = linked[question["sample"]].updates
    return [link for link in links if max(bears_on(s.slot, asked) for s in (link.older, link.newer)) >= BEARS]


class Order(StrEnum):
    """What an answer makes of the updates that the question is about."""

    PLAIN = "plain"
    NEWER = "newer"
    """The newer turn stands right before the older one."""
    MARKED = "marked"
    """The older one is marked as superseded."""
    HIDDEN = "hidden"
    """Superseded turns are left out, whatever the question."""


async def recalled(path: Path, cache: Path) -> dict[str, list[str]]:
    async with InProcess(path, cache) as run:
        return {q["id"]: turns_of(await run.ask(q)) for q in run.questions}


def measured(
    order: Order, ranked: dict[str, list[str]], linked: dict[str, Linked], questions: list[dict[str, Any]]
) -> str:
    ndcg: list[float] = []
    right: list[float] = []
    false: list[float] = []
    edges: list[float] = []
    for question in questions:
        answer = [*ranked[question["id"]]]
        links = about(linked, question)
        marked = {link.older.turn for link in links} & {*answer} if order is Order.MARKED else set()
        if order is Order.NEWER:
            for link in links:
                put_before(answer, link.newer.turn, link.older.turn)
        elif order is Order.HIDDEN:
            gone = {link.older.turn for link in linked[question["sample"]].updates}
            answer = [turn for turn in answer if turn not in gone]
        gold = question["evidence"]
        if gold:
            ndcg.append(ndcg_at_10(answer, gold))
        if question.get("stale"):
            new = min((answer.index(turn) for turn in gold if turn in answer[:10]), default=None)
            old = [answer.index(turn) for turn in question["stale"] if turn in answer[:10] and turn not in marked]
            right.append(new is not None and all(place > new for place in old))
        elif gold:
            false.append(bool(marked & {*gold}))
        if question.get("conflict"):
            shown = [
                c for c in linked[question["sample"]].contradictions if {c.older.turn, c.newer.turn} & {*answer[:10]}
            ]
            edges.append(joins(shown, *question["conflict"]))
    shares = {"nDCG@10": ndcg, "Upd@10": right, "FalseSup": false, "Edge": edges}
    return ", ".join(f"{name} {100 * sum(values) / len(values):.1f}" for name, values in shares.items() if values)


def put_before(answer: list[str], newer: str, older: str) -> None:
    if older in answer and newer not in answer[: answer.index(older)]:
        if newer in answer:
            answer.remove(newer)
        answer.insert(answer.index(older), newer)


if __name__ == "__main__":
    raise SystemExit(main())
