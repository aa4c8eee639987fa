from __future__ import annotations

from memsidecar.domain.memory import Fact, Memory, State
from memsidecar.domain.newer_first import newer_first
from memsidecar.domain.recall import Component, Hit, HitStanding, Tier
from memsidecar.domain.scope import Scope

ANN = Scope("acme", "ann")


def hit(name: str, score: float, **more: object) -> Hit:
    memory = Memory(name, ANN, Fact(name), 1, 1)
    return Hit(ANN.partition, memory, score, Tier.VECTOR, (Component("similarity", score, 1.0, score),), **more)  # type: ignore[arg-type]


def standing(state: State) -> tuple[HitStanding, ...]:
    return (HitStanding("old", state, "said", "new", "c", ("new",), ("new",)),)


def test_a_hit_that_supersedes_another_comes_back_above_it_and_the_rest_keeps_its_order() -> None:
    old = hit("old", 0.8, standings=standing(State.SUPERSEDED))
    hits = (hit("a", 0.9), old, hit("b", 0.5), hit("new", 0.3, counterpart_of="old"), hit("c", 0.2))
    found = newer_first(hits)
    assert [each.memory.id for each in found] == ["a", "new", "old", "b", "c"]
    assert found[1].score == 0.8
    assert sum(part.contribution for part in found[1].components) == 0.8


def test_what_is_above_already_or_only_disputes_stays_where_it_is() -> None:
    new = hit("new", 0.9, counterpart_of="old")
    superseded = (new, hit("old", 0.8, standings=standing(State.SUPERSEDED)))
    assert newer_first(superseded) == superseded
    disputed = (
        hit("old", 0.8, standings=standing(State.DISPUTED)),
        hit("a", 0.5),
        hit("new", 0.3, counterpart_of="old"),
    )
    assert newer_first(disputed) == disputed
