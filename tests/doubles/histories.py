"""Random histories of a partition: commands over few names, texts and ids, so that they collide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from hypothesis import strategies as st

from memsidecar.domain import decide, entities, removal
from memsidecar.domain.claims import Manner
from memsidecar.domain.conflict import Policy
from memsidecar.domain.conflicts.resolving import Answer, Choice, Dismiss, Keep, Part, Replace, Split, resolve
from memsidecar.domain.conflicts.undoing import undo
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.errors import SidecarError
from memsidecar.domain.events import Vectors, VectorsRecorded
from memsidecar.domain.feedback import Verdict
from memsidecar.domain.feedback_rules import Judged, give_feedback
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Preference, Procedure, Provenance
from memsidecar.domain.mentions import find_mentions
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.view import PartitionView

PARTITION = Partition("n", "u")
MODEL = "m"
DIMENSIONS = 4
CHOSEN = ["c0", "c1", "c2"]  # by callers
IDS = [*CHOSEN, *(f"g{i}" for i in range(9))]
NAMES = ["Wren", "Ada Lovelace", "Ada", "wren 🕯️", "🙂"]
TEXTS = ["I saw Wren at home", "i saw wren at HOME", "We met Ada Lovelace and Wren", "白天在家", "tea"]
SESSIONS = ["", "s1", "s2"]

Command = Callable[[Decision], None]


def vectors_of(body: Body) -> Vectors:
    """Some unit vector that only this text has."""
    numbers = np.random.default_rng(abs(hash(embedded_text(body))) % 2**32).normal(size=(1, DIMENSIONS))
    return Vectors(MODEL, (numbers / np.linalg.norm(numbers)).astype(np.float32))


_ids = st.sampled_from(IDS)
_times = st.none() | st.integers(0, 40)
_labels = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)
_refs = st.lists(_ids, max_size=2, unique=True).map(tuple)
_bodies: st.SearchStrategy[Body] = st.one_of(
    st.builds(Episode, st.sampled_from(TEXTS), speaker=st.sampled_from(["", "Ada", "王伟"]), start_time=_times),
    st.builds(Episode, st.sampled_from(TEXTS)),
    st.builds(Entity, st.sampled_from(NAMES), aliases=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple)),
    st.builds(Entity, st.sampled_from(NAMES), summary=st.sampled_from(["", "a cat"])),
    st.builds(Fact, st.sampled_from(TEXTS), subject=st.just("") | _ids, object_text=st.sampled_from(["", "tea"])),
    st.builds(Preference, st.sampled_from(TEXTS), subject=st.just("") | _ids),
    st.builds(
        Fact,
        st.sampled_from(TEXTS),
        subject=st.just("") | _ids,
        predicate=st.sampled_from(["lives_in", "lives_in", "owns"]),
        object_text=st.sampled_from(["Rome", "Oslo"]),
        negated=st.sampled_from([False, False, True]),
    ),
    st.builds(Preference, st.sampled_from(TEXTS), st.just("likes"), st.just("tea"), st.sampled_from([-1.0, 1.0])),
    st.builds(Procedure, st.sampled_from(TEXTS), steps=st.just(("boil", "pour"))),
)
_drafts = st.builds(
    Draft,
    body=_bodies,
    path=st.just("d"),
    agent=st.sampled_from(["", "a1"]),
    session=st.sampled_from(SESSIONS),
    source=st.none() | st.builds(Provenance, document=st.sampled_from("pq"), derived_from=_refs),
    valid_from=_times,
    valid_to=_times,
    expires_at=_times,
    importance=st.sampled_from([0.1, 0.7]),
    labels=_labels,
    mentions=_refs,
    entity_names=st.lists(st.sampled_from(NAMES), max_size=1).map(tuple),
    policy=st.none() | st.sampled_from(Policy),
    manner=st.sampled_from([Manner.STATED, Manner.STATED, *Manner]),
)


@dataclass(frozen=True)
class Remember:
    draft: Draft
    embedded: bool

    def __call__(self, decision: Decision) -> None:
        vectors = vectors_of(self.draft.body) if self.embedded else None
        decide.remember(decision, self.draft, find_mentions(embedded_text(self.draft.body)), vectors)


@dataclass(frozen=True)
class Create:
    draft: Draft
    memory_id: str

    def __call__(self, decision: Decision) -> None:
        decide.create(decision, self.draft, (), vectors_of(self.draft.body), self.memory_id)


@dataclass(frozen=True)
class Update:
    memory_id: str
    text: str
    name: str
    changes: dict[str, object]
    embedded: bool

    def __call__(self, decision: Decision) -> None:
        memory = decision.view.memory(self.memory_id)
        changes: dict[str, Any] = dict(self.changes)
        if self.text and memory is not None:
            match memory.body:
                case Episode():
                    changes["text"] = self.text
                case Entity():
                    changes["aliases"] = (self.name,)
                case _:
                    changes["statement"] = self.text
        vectors, found = None, None
        if memory is not None and (body := decide.patched_body(memory, changes)) != memory.body:
            found = find_mentions(embedded_text(body))
            if self.embedded and embedded_text(body) != embedded_text(memory.body):
                vectors = vectors_of(body)
        decide.update(decision, self.memory_id, Patch(changes, vectors=vectors), found)


@dataclass(frozen=True)
class Embed:
    """What the backlog does."""

    memory_id: str

    def __call__(self, decision: Decision) -> None:
        memory = decision.view.memory(self.memory_id)
        if memory is not None and not decision.view.has_vectors(self.memory_id):
            decision.record(VectorsRecorded(self.memory_id, vectors_of(memory.body)))


@dataclass(frozen=True)
class Remove:
    kind: str
    memory_id: str

    def __call__(self, decision: Decision) -> None:
        match self.kind:
            case "delete":
                removal.delete(decision, self.memory_id, "", "")
            case "undelete":
                removal.undelete(decision, self.memory_id)
            case _:
                removal.purge(decision, self.memory_id, "", "")


@dataclass(frozen=True)
class Judge:
    memory_id: str
    verdict: Verdict

    def __call__(self, decision: Decision) -> None:
        give_feedback(decision, Scope("n", "u"), [Judged(self.memory_id, self.verdict, "items[0].memory")])


@dataclass(frozen=True)
class Settle:
    """Somebody decides about the `number`th conflict of a memory."""

    memory_id: str
    number: int
    choice: Choice | None
    """None: undo it."""

    def __call__(self, decision: Decision) -> None:
        conflicts = list(decision.view.conflicts_of(self.memory_id))
        conflict_id = conflicts[self.number % len(conflicts)] if conflicts else "none"
        if self.choice is None:
            undo(decision, conflict_id, "", "")
        else:
            resolve(decision, conflict_id, self.choice, "", "")


@dataclass(frozen=True)
class Unite:
    kind: str
    one: str
    other: str

    def __call__(self, decision: Decision) -> None:
        if self.kind == "merge":
            entities.merge(decision, self.one, [self.other])
        else:
            entities.unmerge(decision, self.one)


_choices: st.SearchStrategy[Choice | None] = st.one_of(
    st.none(),
    st.none(),
    st.builds(Keep, _ids, st.booleans()),
    st.builds(Keep, _ids, st.booleans()),
    st.builds(Answer, st.sampled_from(["Rome", "Oslo", "yes", "no"])),
    st.just(Dismiss()),
    st.just(Replace(Draft(Fact("Lima", predicate="lives_in", object_text="Lima")))),
    st.builds(lambda a, b, t: Split((Part(a, None, t), Part(b, t))), _ids, _ids, _times),
)
_patches = st.fixed_dictionaries({}, optional={"importance": st.just(0.9), "labels": _labels, "mentions": _refs})
COMMANDS: st.SearchStrategy[Command] = st.one_of(
    st.builds(Remember, _drafts, st.booleans()),
    st.builds(Remember, _drafts, st.booleans()),
    st.builds(Create, _drafts, st.sampled_from(CHOSEN)),
    st.builds(Update, _ids, st.sampled_from(["", *TEXTS]), st.sampled_from(NAMES), _patches, st.booleans()),
    st.builds(Embed, _ids),
    st.builds(Judge, _ids, st.sampled_from(Verdict)),
    st.builds(Remove, st.sampled_from(["delete", "undelete", "purge"]), _ids),
    st.builds(Settle, _ids, st.integers(0, 2), _choices),
    st.builds(Settle, _ids, st.integers(0, 2), _choices),
    st.builds(Unite, st.sampled_from(["merge", "unmerge"]), _ids, _ids),
)
HISTORIES = st.lists(COMMANDS, min_size=1, max_size=25)

# Histories in which memories contradict one another: what is said of two people and a place, by one source or more.
_FIRST: list[Command] = [
    Create(Draft(Entity("Ann"), path="d"), "c0"),
    Create(Draft(Entity("Oslo"), path="d"), "c1"),
    Create(Draft(Episode("so it was said"), path="d"), "c2"),
]
_of_whom = st.sampled_from(["", "", "c0"])
_STATEMENTS = st.builds(
    Draft,
    body=st.one_of(
        st.builds(
            Fact,
            st.sampled_from(["lives here", "lives there", "lives nowhere"]),
            subject=_of_whom,
            predicate=st.just("lives_in"),
            object_text=st.sampled_from(["Oslo", "Rome", "Bonn"]),
            object_entity=st.sampled_from(["", "c1"]),
            negated=st.sampled_from([False, False, True]),
        ),
        st.builds(
            Preference,
            st.sampled_from(["likes tea", "hates tea"]),
            topic=st.just("tea"),
            value=st.just("tea"),
            polarity=st.sampled_from([-1.0, 1.0]),
            subject=_of_whom,
        ),
    ),
    path=st.just("d"),
    source=st.none() | st.builds(Provenance, derived_from=st.sampled_from([(), ("c2",), ("g0",), ("c2", "g0")])),
    valid_from=_times,
    confidence=st.sampled_from([0.4, 1.0]),
)
_STATING: st.SearchStrategy[Command] = st.one_of(
    *(st.builds(Remember, _STATEMENTS, st.just(False)) for _ in range(6)),
    st.builds(Settle, _ids, st.integers(0, 2), _choices),
    st.builds(Settle, _ids, st.integers(0, 2), _choices),
    st.builds(Unite, st.sampled_from(["merge", "unmerge"]), st.sampled_from(CHOSEN), st.sampled_from(CHOSEN)),
    st.builds(
        Remember, st.builds(Draft, body=st.builds(Episode, st.sampled_from(TEXTS)), path=st.just("d")), st.just(False)
    ),
    st.builds(Remove, st.sampled_from(["delete", "undelete", "purge"]), _ids),
    st.builds(
        Create,
        st.builds(Draft, body=st.builds(Entity, st.sampled_from(NAMES)), path=st.just("d")),
        st.sampled_from(CHOSEN),
    ),
)
_OF_MANY_SLOTS = st.builds(
    Draft,
    body=st.one_of(
        st.builds(
            Fact,
            st.sampled_from(["so it is", "never so", "the score in biology is up to 80%"]),
            predicate=st.sampled_from(
                ["lives_in", "owns", "gadget", "deadline:essay", "deadline:visa", "quiz score", "quiz score in biology"]
            ),
            object_text=st.sampled_from(["Oslo", "the Oslo", "🙂", "70%", "0.7", "80 percent", "March 3"]),
            object_entity=st.sampled_from(["", "", "c0", "c1"]),
            negated=st.sampled_from([False, False, True]),
        ),
        st.builds(
            Fact,
            st.sampled_from(["I never wrote Flask routes", "I wrote a Flask route"]),
            predicate=st.just("experience"),
            object_text=st.sampled_from(["wrote any Flask routes", "wrote a Flask route", "wrote tests"]),
            negated=st.booleans(),
        ),
        st.builds(
            Preference,
            st.sampled_from(["yes", "no"]),
            topic=st.sampled_from(["food", "tea", "favourite:colour", "favourite:tea"]),
            value=st.sampled_from(["", "tea", "blue"]),
            polarity=st.sampled_from([-1.0, 0.0, 1.0]),
        ),
    ),
    path=st.just("d"),
    agent=st.sampled_from(["", "", "a1"]),
    valid_from=_times,
    valid_to=st.none() | st.none() | _times,
    manner=st.sampled_from([Manner.STATED, *Manner]),
    confidence=st.sampled_from([0.4, 1.0]),
)
_SLOTTED: st.SearchStrategy[Command] = st.one_of(
    *(st.builds(Remember, _OF_MANY_SLOTS, st.just(False)) for _ in range(6)),
    st.builds(Settle, _ids, st.integers(0, 2), _choices),
    st.builds(Unite, st.sampled_from(["merge", "unmerge"]), st.sampled_from(CHOSEN), st.sampled_from(CHOSEN)),
    st.builds(Remove, st.sampled_from(["delete", "undelete", "purge"]), _ids),
    st.builds(
        Create,
        st.builds(Draft, body=st.builds(Entity, st.sampled_from(["Oslo", "🙂", "The Oslo"])), path=st.just("d")),
        st.sampled_from(CHOSEN),
    ),
)
SLOTTED = st.lists(_SLOTTED, min_size=4, max_size=25).map(lambda commands: [*_FIRST, *commands])
"""Histories of slots of every family."""
KNOWLEDGE = st.lists(_STATING, min_size=4, max_size=25).map(lambda commands: [*_FIRST, *commands])


def new_ids() -> Callable[[], str]:
    """g0, g1, g2 ..."""
    numbers = count()
    return lambda: f"g{next(numbers)}"


def decided(view: PartitionView, command: Command, now: int, new_id: Callable[[], str]) -> Decision:
    """What a command decides; one that is refused must not have recorded anything."""
    decision = Decision.on(view, PARTITION, now, new_id, Request(actor="test"))
    try:
        command(decision)
    except SidecarError:
        assert decision.events == []
    return decision
