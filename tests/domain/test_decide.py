from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from memsidecar.domain import decide, removal
from memsidecar.domain.decision import Decision, etag_of
from memsidecar.domain.draft import Action, Draft, Outcome, Patch, Request
from memsidecar.domain.errors import AlreadyExists, EtagMismatch, InvalidField, NotFound
from memsidecar.domain.events import Event, MemoryRecorded, Vectors, VectorsRecorded
from memsidecar.domain.limits import MAX_LABELS
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Memory, Preference, Provenance, State
from memsidecar.domain.mentions import Mention
from memsidecar.domain.merging import MAX_PROVENANCE
from tests.doubles.histories import PARTITION, vectors_of
from tests.doubles.naive_partition import NaivePartition


class Store:
    """A partition that commits every command at once."""

    def __init__(self) -> None:
        self.state = NaivePartition()
        self.now = 0
        self.events: list[Event] = []
        numbers = count()
        self._ids: Callable[[], str] = lambda: f"g{next(numbers)}"

    def run(self, command: Callable[[Decision], Any]) -> Any:
        self.now += 1
        decision = Decision.on(self.state, PARTITION, self.now, self._ids, Request(actor="test"))
        self.events = decision.events
        result = command(decision)
        for event in decision.events:
            self.state.apply(event)
        return result

    def remember(self, body: Body, vectors: Vectors | None = None, names: tuple[str, ...] = (), **more: Any) -> Outcome:
        draft = Draft(body, "d", **more)
        found = tuple(map(Mention, names))
        outcome = self.run(lambda d: decide.remember(d, draft, found, vectors))
        assert isinstance(outcome, Outcome)
        return outcome

    def update(
        self, memory_id: str, found: tuple[Mention, ...] | None = None, etag: str = "", **changes: Any
    ) -> Memory:
        memory = self.run(lambda d: decide.update(d, memory_id, Patch(changes, etag), found))
        assert isinstance(memory, Memory)
        return memory

    def refused(self, command: Callable[[Decision], Any], error: type[Exception]) -> str:
        with pytest.raises(error) as caught:
            self.run(command)
        assert self.events == []
        return str(caught.value)


@pytest.fixture
def store() -> Store:
    return Store()


def test_the_same_said_again_is_one_memory_with_its_sources(store: Store) -> None:
    first = store.remember(Episode("tea"), source=Provenance(session="s1"))
    again = store.remember(Episode("TEA "), source=Provenance(session="s2"))
    third = store.remember(Episode("tea"), source=Provenance(session="s2"))
    assert [o.action for o in (first, again, third)] == [Action.CREATED, Action.MERGED, Action.DUPLICATE]
    assert len(store.state.memories) == 1
    memory = store.state.memories[first.memory.id]
    assert [p.session for p in memory.provenance] == ["s1", "s2"]
    assert memory.version == 2


def test_the_same_said_by_two_is_two_memories(store: Store) -> None:
    store.remember(Episode("tea", speaker="Ada"))
    assert store.remember(Episode("tea", speaker="Wren")).action is Action.CREATED


def test_merging_keeps_the_widest_dates(store: Store) -> None:
    store.remember(Fact("f"), valid_from=10, valid_to=20, expires_at=30)
    merged = store.remember(Fact("f"), valid_from=5, valid_to=15, expires_at=40)
    assert merged.action is Action.MERGED
    assert (merged.memory.valid_from, merged.memory.valid_to, merged.memory.expires_at) == (5, 20, 40)
    assert store.remember(Fact("f"), valid_from=5, valid_to=15, expires_at=1).action is Action.DUPLICATE
    forever = store.remember(Fact("f")).memory
    assert (forever.valid_from, forever.valid_to, forever.expires_at) == (None, None, None)


def test_what_expired_lives_again_when_it_is_said_again(store: Store) -> None:
    store.remember(Fact("f"), expires_at=2)
    store.now = 10
    assert store.remember(Fact("f"), expires_at=50).memory.state_at(11) is State.ACTIVE


def test_sources_labels_and_aliases_are_bounded(store: Store) -> None:
    for number in range(MAX_PROVENANCE + 20):
        store.remember(Fact("f"), source=Provenance(document=str(number)))
    (memory,) = store.state.memories.values()
    documents = [p.document for p in memory.provenance]
    assert len(documents) == MAX_PROVENANCE
    assert documents[0] == "0"
    assert documents[-1] == str(MAX_PROVENANCE + 19)
    store.remember(Fact("g"), labels={f"k{i}": "v" for i in range(60)})
    labels = store.remember(Fact("g"), labels={"k1": "new", **{f"n{i}": "v" for i in range(60)}}).memory.labels
    assert len(labels) == MAX_LABELS
    assert labels["k1"] == "new"
    assert "k59" in labels
    many = tuple(f"alias {i}" for i in range(200))
    store.remember(Entity("Wren", aliases=many))
    body = store.remember(Entity("Wren", aliases=("one more",))).memory.body
    assert isinstance(body, Entity)
    assert body.aliases == (*many, "one more")
    body = store.remember(Entity("Wren", aliases=tuple(f"b{i}" for i in range(200)))).memory.body
    assert isinstance(body, Entity)
    assert len(body.aliases) == 256


def test_due_vectors_come_with_whoever_brings_them(store: Store) -> None:
    body = Fact("f")
    assert store.remember(body).embedding_pending
    assert store.remember(body).embedding_pending
    again = store.remember(body, vectors_of(body))
    assert (again.action, again.embedding_pending) == (Action.DUPLICATE, False)
    assert [type(e) for e in store.events] == [VectorsRecorded]
    other = Fact("g")
    store.remember(other)
    merged = store.remember(other, vectors_of(other), source=Provenance(document="p"))
    assert (merged.action, merged.embedding_pending) == (Action.MERGED, False)
    assert store.state.has_vectors(merged.memory.id)
    store.remember(other, vectors_of(other), source=Provenance(document="q"))
    assert [e.vectors for e in store.events if isinstance(e, MemoryRecorded)] == [None]


def test_vectors_of_another_text_are_not_stored(store: Store) -> None:
    known = Entity("Wren", summary="a cat")
    store.remember(known, vectors_of(known))
    draft = Entity("Wren 🕯️", summary="a bird")
    merged = store.remember(draft, vectors_of(draft))
    assert merged.memory.text == "Wren: a bird"
    assert merged.embedding_pending
    assert not store.state.has_vectors(merged.memory.id)


def test_an_entity_is_found_by_its_alias(store: Store) -> None:
    first = store.remember(Entity("Ada Lovelace", aliases=("Ada",))).memory
    merged = store.remember(Entity("ada", type="person")).memory
    assert merged.id == first.id
    assert merged.body == Entity("Ada Lovelace", "person", ("Ada", "ada"))


def test_a_discovered_entity_becomes_the_one_that_is_written(store: Store) -> None:
    said = store.remember(Episode("I saw Ada"), names=("Ada",)).memory
    merged = store.remember(Entity("Ada Lovelace", "person", aliases=("Ada",)))
    assert merged.memory.id == said.mentions[0]
    assert merged.memory.body == Entity("Ada Lovelace", "person", ("Ada",))
    assert store.state.entity("ada") == store.state.entity("ada lovelace") == merged.memory.id
    other = store.remember(Entity("Ada Byron", aliases=("Ada",)))
    assert other.action is Action.CREATED, "an alias that two share does not make them one"


def test_names_without_letters_are_kept_apart_and_found_by_content(store: Store) -> None:
    first = store.remember(Entity("🙂"))
    assert store.remember(Entity("🙂")).memory.id == first.memory.id
    assert store.remember(Entity("😀")).action is Action.CREATED
    assert store.remember(Episode("hi"), names=("🙂",), entity_names=("🙂",)).memory.mentions == ()


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (Draft(Fact("f", subject="gone"), "d"), "d.fact.subject"),
        (Draft(Fact("f", object_entity="fact"), "d"), "d.fact.entity"),
        (Draft(Preference("p", subject="deleted"), "d"), "d.preference.subject"),
        (Draft(Episode("e", participants=("wren", "gone")), "d"), "d.episode.participants[1]"),
        (Draft(Episode("e"), "d", mentions=("wren", "fact")), "d.mentions[1]"),
        (Draft(Fact("known"), "d", mentions=("gone",)), "d.mentions[0]"),
        (
            Draft(Fact("known"), "d", source=Provenance(derived_from=("fact", "gone"))),
            "d.provenance.derived_memories[1]",
        ),
    ],
)
def test_a_reference_to_what_is_not_there_is_refused(store: Store, draft: Draft, field: str) -> None:
    for memory_id, body in (("wren", Entity("Wren")), ("deleted", Entity("Gone")), ("fact", Fact("known"))):
        store.run(lambda d, i=memory_id, b=body: decide.create(d, Draft(b), (), None, i))  # type: ignore[misc]
    store.run(lambda d: removal.delete(d, "deleted", "", ""))
    problem = store.refused(lambda d: decide.remember(d, draft, (Mention("New Name"),), None), InvalidField)
    assert problem.startswith(field + ": ")


def test_what_a_memory_points_at_may_go_without_locking_the_memory(store: Store) -> None:
    wren = store.remember(Entity("Wren")).memory.id
    fact = store.remember(Fact("f", subject=wren), mentions=(wren,)).memory.id
    store.run(lambda d: removal.purge(d, wren, "", ""))
    assert store.update(fact, importance=0.9).importance == 0.9
    patch = Patch({"subject": "gone"})
    assert "memory.fact.subject" in store.refused(lambda d: decide.update(d, fact, patch, None), InvalidField)


def test_a_refused_update_records_nothing(store: Store) -> None:
    fact = store.remember(Fact("f")).memory.id
    patch = Patch({"statement": "New Name", "valid_from": 9, "valid_to": 3})
    problem = store.refused(lambda d: decide.update(d, fact, patch, (Mention("New Name"),)), InvalidField)
    assert problem.startswith("memory.valid_end_time")


def test_an_etag_holds_for_one_version(store: Store) -> None:
    memory = store.remember(Fact("f")).memory
    etag = etag_of(memory)
    store.update(memory.id, etag=etag, importance=0.9)
    for command in (
        lambda d: decide.update(d, memory.id, Patch({}, etag), None),
        lambda d: removal.delete(d, memory.id, etag, ""),
        lambda d: removal.purge(d, memory.id, etag, ""),
    ):
        assert "its etag is now 2" in store.refused(command, EtagMismatch)


def test_deleting_twice_and_undeleting(store: Store) -> None:
    memory = store.remember(Fact("f")).memory
    deleted = store.run(lambda d: removal.delete(d, memory.id, "", "why"))
    assert (deleted.state, deleted.version, deleted.purge_at) == (State.DELETED, 2, store.now + removal.PURGE_AFTER)
    assert store.run(lambda d: removal.delete(d, memory.id, "", "")) == deleted
    assert store.events == []
    store.refused(lambda d: decide.update(d, memory.id, Patch({"importance": 1.0}), None), InvalidField)
    back = store.run(lambda d: removal.undelete(d, memory.id))
    assert (back.state, back.deleted_at, back.purge_at, back.version) == (State.ACTIVE, None, None, 3)
    assert store.run(lambda d: removal.undelete(d, memory.id)) == back
    assert store.events == []


def test_both_live_when_the_same_was_stored_before_an_undelete(store: Store) -> None:
    old = store.remember(Fact("f")).memory
    store.run(lambda d: removal.delete(d, old.id, "", ""))
    new = store.remember(Fact("f")).memory
    assert new.id != old.id
    store.run(lambda d: removal.undelete(d, old.id))
    assert store.remember(Fact("f"), source=Provenance(document="p")).memory.id == old.id
    store.run(lambda d: removal.delete(d, old.id, "", ""))
    assert store.remember(Fact("f"), source=Provenance(document="p")).memory.id == new.id


def test_an_update_may_make_two_memories_say_the_same(store: Store) -> None:
    first, second = store.remember(Fact("f")).memory, store.remember(Fact("g")).memory
    store.update(second.id, statement="f")
    assert store.remember(Fact("f")).memory.id == first.id
    store.run(lambda d: removal.purge(d, first.id, "", ""))
    assert store.remember(Fact("f")).memory.id == second.id
    assert store.remember(Fact("g")).action is Action.CREATED


def test_a_purged_id_is_free_again(store: Store) -> None:
    create = lambda d: decide.create(d, Draft(Fact("f")), (), None, "mine")  # noqa: E731
    store.run(create)
    store.refused(create, AlreadyExists)
    store.run(lambda d: removal.purge(d, "mine", "", ""))
    store.refused(lambda d: removal.undelete(d, "mine"), NotFound)
    assert store.run(create).version == 1


def test_episodes_follow_the_last_one_that_is_left(store: Store) -> None:
    a, b, c = (store.remember(Episode(t), session="s").memory for t in "abc")
    assert [m.body.follows for m in (a, b, c)] == ["", a.id, b.id]  # type: ignore[union-attr]
    store.run(lambda d: removal.purge(d, b.id, "", ""))
    store.run(lambda d: removal.purge(d, c.id, "", ""))
    assert store.remember(Episode("d"), session="s").memory.body.follows == a.id  # type: ignore[union-attr]
    assert store.remember(Episode("e"), session="t").memory.body.follows == ""  # type: ignore[union-attr]


def test_merging_adds_what_the_caller_says_is_mentioned(store: Store) -> None:
    wren = store.remember(Entity("Wren")).memory.id
    first = store.remember(Fact("f")).memory
    merged = store.remember(Fact("f"), mentions=(wren,), entity_names=("Ada",), attributes='{"a":1}').memory
    assert merged.id == first.id
    assert merged.mentions == (wren, store.state.entity("ada"))
    assert merged.attributes == '{"a":1}'


def test_a_new_text_takes_the_old_names_away(store: Store) -> None:
    said = store.remember(Episode("I saw Ada"), names=("Ada",)).memory
    changed = store.update(said.id, (Mention("Wren"),), text="I saw Wren")
    assert changed.mentions == (store.state.entity("wren"),)
