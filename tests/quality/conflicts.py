"""Which updates and contradictions the rules link, and which they should not have: offline, over the turns of data sets.

    python -m tests.quality.conflicts DATA.jsonl ... [--show] [--embeddings CACHE]

Goes through a sample's turns in order, extracts, and links by slot: of an update the older turn is superseded, of a
contradiction both are flagged.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memsidecar.domain.claims import Claim, Manner
from memsidecar.domain.extraction.experience import EXPERIENCE, experience_claims
from memsidecar.domain.extraction.quantities import quantity_claims
from memsidecar.domain.slots import (
    BEARS,
    OPPOSED,
    SAME,
    Rarity,
    Slot,
    bears_on,
    content,
    opposed,
    same_slot,
    same_value,
    slot_of,
)
from memsidecar.domain.tokens import tokens
from tests.quality.questions import load

# Of one denial, the statements that contradict it most; more are not told.
MOST = 8


@dataclass(frozen=True, slots=True)
class Stated:
    turn: str
    order: int
    speaker: str
    claim: Claim
    slot: Slot


@dataclass(frozen=True, slots=True)
class Link:
    older: Stated
    newer: Stated
    sure: float


def stated(turns: list[dict[str, Any]]) -> Iterator[Stated]:
    for order, turn in enumerate(turns):
        if turn.get("speaker") != "assistant":
            for claim in [*quantity_claims(turn["text"]), *experience_claims(turn["text"])]:
                slot = slot_of(claim.attribute, claim.value, claim.statement)
                if slot is not None:
                    yield Stated(turn["id"], order, turn.get("speaker") or "", claim, slot)


def rarity_in(turns: list[dict[str, Any]]) -> Rarity:
    """How rare stems are in what was said."""
    said = [turn for turn in turns if turn.get("speaker") != "assistant"]
    often = Counter(stem for turn in said for stem in content(turn["text"]))
    many = 50 + len(said)
    return lambda stem: math.log(many / (1 + often[stem])) / math.log(many)


def updates(said: list[Stated], rarity: Rarity) -> list[Link]:
    """Each claim with the newest one before it of its slot that says otherwise."""
    links: list[Link] = []
    gone: set[int] = set()
    by_family: dict[str, list[int]] = defaultdict(list)
    for i, new in enumerate(said):
        if new.claim.attribute == EXPERIENCE:
            continue
        found: list[tuple[int, float]] = []
        for j in by_family[new.slot.family]:
            old = said[j]
            if (
                j in gone
                or old.turn == new.turn
                or old.speaker != new.speaker
                or old.claim.subject.lower() != new.claim.subject.lower()
                or same_value(old.slot, new.slot)
            ):
                continue
            changed = new.claim.manner is not Manner.STATED
            sure = same_slot(old.slot, new.slot, changed=changed, rarity=rarity)
            if sure >= SAME:
                found.append((j, sure))
        # What repeats a value that has been replaced already tells of then, not of now.
        echo = any(
            k in gone
            and same_value(said[k].slot, new.slot)
            and same_slot(said[k].slot, new.slot, changed=True, rarity=rarity) >= SAME
            and (new.claim.manner is Manner.STATED or new.slot.before == said[k].slot.before)
            for k in by_family[new.slot.family]
        )
        if not echo:
            links += [Link(said[j], new, sure) for j, sure in found]
            gone |= {j for j, _ in found}
        by_family[new.slot.family].append(i)
    return links


def contradictions(said: list[Stated], rarity: Rarity) -> list[Link]:
    done = [s for s in said if s.claim.attribute == EXPERIENCE and not s.claim.negated]
    links: list[Link] = []
    for never in said:
        if never.claim.attribute == EXPERIENCE and never.claim.negated:
            found = [
                (opposed(never.slot, other.slot, rarity), other)
                for other in done
                if other.speaker == never.speaker and other.claim.span != never.claim.span
            ]
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
    options = parser.parse_args()
    for path in options.data:
        report(path, options.show)
    return 0


def report(path: Path, show: bool) -> None:
    samples, questions = load(path)
    replaced: dict[str, set[tuple[str, str]]] = {}
    denied: dict[str, set[tuple[str, str]]] = {}
    kept: dict[str, list[Link]] = {}
    for sample, turns in samples.items():
        said = list(stated(turns))
        rarity = rarity_in(turns)
        links, conflicts = updates(said, rarity), contradictions(said, rarity)
        kept[sample] = links
        replaced[sample] = {(link.older.turn, link.newer.turn) for link in links}
        denied[sample] = {(link.older.turn, link.newer.turn) for link in conflicts}
        if show:
            for link in [*links, *conflicts]:
                print_link(link)
    score(path, replaced, denied, questions, sum(map(len, samples.values())), kept)


def print_link(link: Link) -> None:
    for name, side in (("OLD", link.older), ("NEW", link.newer)):
        claim = side.claim
        print(f"{name} {side.turn} [{claim.attribute} | {claim.value} | {claim.manner.name}] {claim.statement}")
    print(
        f"    {link.sure:.2f} {link.newer.slot.family} {sorted(link.older.slot.qualifier)} {sorted(link.newer.slot.qualifier)}"
    )


def score(
    path: Path,
    replaced: dict[str, set[tuple[str, str]]],
    denied: dict[str, set[tuple[str, str]]],
    questions: list[dict[str, Any]],
    turns: int,
    links: dict[str, list[Link]],
) -> None:
    changed = [q for q in questions if q.get("stale")]
    contrary = [q for q in questions if q.get("conflict")]
    due = {old for q in changed for old in q["stale"]}
    print(
        f"{path.stem}: {sum(map(len, replaced.values()))} updates, {sum(map(len, denied.values()))} contradictions, {turns} turns"
    )
    if changed:
        hit = [q for q in changed if any(o in q["stale"] and n in q["evidence"] for o, n in replaced[q["sample"]])]
        flagged = [q for q in changed if any(o in q["stale"] for o, _ in replaced[q["sample"]])]
        print(
            f"  update pairs linked {len(hit)}/{len(changed)}, stale turn superseded by any {len(flagged)}/{len(changed)}"
        )
        print("   missed:", *(q["id"] for q in changed if q not in hit))
    if contrary:
        hit = [q for q in contrary if any(_joins(pair, q["conflict"]) for pair in denied[q["sample"]])]
        print(f"  contradiction pairs linked {len(hit)}/{len(contrary)}")
        print("   missed:", *(q["id"] for q in contrary if q not in hit))
    others = [q for q in questions if not q.get("stale") and q["evidence"]]
    wrong = [q for q in others if {link.older.turn for link in links[q["sample"]]} & {*q["evidence"]}]
    told = [q for q in others if {link.older.turn for link in links[q["sample"]] if _about(link, q)} & {*q["evidence"]}]
    apart = [
        q
        for q in others
        if ({link.older.turn for link in links[q["sample"]] if _about(link, q)} - due) & {*q["evidence"]}
    ]
    missed = [
        q["id"] for q in changed if not any(o.older.turn in q["stale"] and _about(o, q) for o in links[q["sample"]])
    ]
    gone = {o for pairs in replaced.values() for o, _ in pairs}
    if others:
        print(
            f"  other questions with a superseded gold turn {len(wrong)}/{len(others)}, where the question is about what "
            f"changed {len(told)}, of them not stale by gold {len(apart)}; superseded turns {len(gone)} "
            f"({100 * len(gone) / turns:.1f} % of all)"
        )
        print("   about:", *(q["id"] for q in told))
    print("   updates whose question is not seen to be about it, or not linked:", *missed)


def _about(link: Link, question: dict[str, Any]) -> bool:
    asked = frozenset(tokens(question["question"]))
    return max(bears_on(link.older.slot, asked), bears_on(link.newer.slot, asked)) >= BEARS


def _joins(pair: tuple[str, str], sides: list[list[str]]) -> bool:
    a, b = pair
    return (a in sides[0] and b in sides[1]) or (b in sides[0] and a in sides[1])


if __name__ == "__main__":
    raise SystemExit(main())
