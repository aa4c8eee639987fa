"""A small bilingual life, told and asked about through the client; and everything a store says, to be compared."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from memsidecar_client import (
    Body,
    Entity,
    Episode,
    Fact,
    Filter,
    Item,
    Memory,
    MemoryKind,
    MemoryState,
    Memsidecar,
    Preference,
    Procedure,
)

from tests.e2e.process import DIMENSIONS

START = datetime(2026, 1, 5, 9, tzinfo=UTC)

TURNS = (
    ("Ann", "My brother Ben has moved from Porto to Lisbon."),
    ("Ann", "我下个月要搬到北京大学附近，离公司更近。"),
    ("Ann", "I really like jasmine tea, but never after 6 pm."),
    ("Sam", "Shall we book the flight TP 944 to Geneva for May 4?"),
    ("Ann", "Yes, and Ben's daughter Clara starts school in September."),
    ("Ann", "我对花生过敏，出门一定要带药。"),
    ("Sam", "The dentist Dr. Meier moved the appointment to Tuesday 10:30."),
    ("Ann", "I sold the Yamaha P-125 piano to @lucas for 420 euros."),
)
QUESTIONS = ("Where does Ben live?", "花生过敏", "Which flight to Geneva?", "What did Ann sell?", "jasmine tea")

ALL = Filter(kinds=tuple(k for k in MemoryKind if k), states=tuple(s for s in MemoryState if s))


def vector(text: str) -> list[float]:
    """A unit vector that a text always has."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    row = np.random.default_rng(seed).standard_normal(DIMENSIONS)
    return [float(x) for x in row / np.linalg.norm(row)]


def tell(client: Memsidecar, vectors: bool = True) -> list[Memory]:
    """Memories of every kind, one of them corrected, one deleted, one purged. The memories, as they now are."""
    items = [
        Item(text, speaker, START + timedelta(hours=n), embedding=vector(text) if vectors else None)
        for n, (speaker, text) in enumerate(TURNS)
    ]
    told = client.remember_many(items, session="s1")
    assert not told.failures
    ben = client.create_memory(Entity("Ben", "person", ("Benjamin",), "Ann's brother"), memory_id="ben").memory
    bodies: tuple[Body, ...] = (
        Fact("Ben works as a nurse", subject=ben.name, predicate="occupation", object_text="nurse"),
        Preference("Ann prefers window seats", "seat", "window", 0.9),
        Procedure("How Ann brews tea", "tea", ("heat to 80 °C", "wait 3 minutes")),
        Episode("Ann and Ben had dinner in Alfama", participants=(ben.name,), start_time=START),
    )
    made = [
        client.create_memory(
            body, memory_id=f"m{n}", embedding=vector(Memory(body).text) if vectors else None, session="s2"
        ).memory
        for n, body in enumerate(bodies)
    ]
    fact = "Ben works as a head nurse"
    changed = Memory(Fact(fact), name=made[0].name)
    client.update_memory(changed, fields=["fact.statement"], embedding=vector(fact) if vectors else None)
    client.delete_memory(made[1].name, reason="she changed her mind")
    passing = client.remember("A passing thought about Zanzibar", embedding=vector("z") if vectors else None)
    client.delete_memory(passing.memories[0].name, purge=True)
    return list(client.list_memories(ALL, page_size=1000))


@dataclass(frozen=True)
class Answers:
    """Everything a store says about a user."""

    memories: tuple[Memory, ...]
    histories: tuple[tuple[str, int, object], ...]
    recalls: tuple[tuple[str, tuple[tuple[str, float, str], ...]], ...]


def answers(client: Memsidecar, vectors: bool = True) -> Answers:
    """The list, the newest 250 one by one with their histories, and the hits of every question with their scores, asked
    at a fixed time. Without the counts of recalls, which asking changes."""
    listed = tuple(client.list_memories(ALL, page_size=1000))
    few = listed[-250:]
    assert client.get_memories(memory.name for memory in few) == few
    memories = tuple(replace(memory, access_count=0, last_access_time=None) for memory in listed)
    histories = tuple(
        (memory.name, int(revision.change), revision.snapshot)
        for memory in few
        for revision in client.memory_history(memory.name)
    )
    recalls = []
    for question in QUESTIONS:
        found = client.recall(
            question, embedding=vector(TURNS[0][1]) if vectors else None, time=START + timedelta(days=90), explain=True
        )
        assert found.hits, question
        recalls.append((question, tuple((h.memory.name, round(h.score, 5), h.text) for h in found.hits)))
    return Answers(memories, histories, tuple(recalls))
