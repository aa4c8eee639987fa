"""What becomes of memories of one slot in time. Numbers are of the field's bugs, `field_bugs.md`."""

from __future__ import annotations

from typing import Any

import pytest

from memsidecar.domain.attributes import Cardinality
from memsidecar.domain.claims import Manner
from memsidecar.domain.conflict import ConflictState, Resolution, Rule, Source
from memsidecar.domain.conflicts.chain import true_at
from memsidecar.domain.conflicts.rules import ConflictRules
from memsidecar.domain.draft import Action
from memsidecar.domain.memory import Entity, Episode, Fact, Preference, Provenance, State
from tests.domain.conflicts.knowledge import Knowledge, said, value_of


def test_the_same_said_again_is_one_memory_that_stays(known: Knowledge) -> None:  # 1
    first = known.says("Rome", 10)
    again = known.says("Rome", 10)
    assert (again.action, again.memory.id) == (Action.DUPLICATE, first.memory.id)
    assert known.current() == ["Rome"]


def test_the_opposite_wish_supersedes_and_keeps_the_old_one(known: Knowledge) -> None:  # 2
    love = known.likes("Chinese food")
    hate = known.likes("Chinese food", -1.0)
    assert (hate.action, hate.superseded) == (Action.SUPERSEDED, (love.memory.id,))
    assert known.current() == ["not Chinese food"]
    assert known.memory(love).state is State.SUPERSEDED
    (conflict,) = known.conflicts()
    assert (conflict.rule, conflict.winner, conflict.losers) == (
        Rule.POLARITY,
        hate.memory.id,
        (love.memory.id,),
    )
    assert hate.conflicts == (conflict.id,)


def test_a_move_stores_the_new_text_and_ends_the_old_one(known: Knowledge) -> None:  # 4
    rome = known.says("Rome", 10)
    oslo = known.says("Oslo", 20)
    assert "Oslo" in known.memory(oslo).text
    assert known.memory(oslo).digest != known.memory(rome).digest
    assert known.spans() == [("Rome", 10, 20, "SUPERSEDED"), ("Oslo", 20, None, "ACTIVE")]
    assert known.memory(rome).superseded_at == known.now
    assert (known.at(5), known.at(19), known.at(20)) == ([], ["Rome"], ["Oslo"])


def test_only_the_same_subject_and_attribute_may_conflict(known: Knowledge) -> None:  # 5
    a, b = known.entity("A"), known.entity("B")
    uses = known.says("B", attribute="employer", subject=a)
    known.says("C", attribute="employer", subject=b)
    known.says("Rome")
    known.remember(Episode("I live in Oslo"))
    known.remember(Fact("she lives in Oslo", object_text="Oslo"))
    assert known.memory(uses).state is State.ACTIVE
    assert known.conflicts() == []


def test_what_comes_late_goes_into_history(known: Knowledge) -> None:  # 7
    oslo = known.says("Oslo", 20)
    rome = known.says("Rome", 10)
    assert known.spans() == [("Rome", 10, 20, "SUPERSEDED"), ("Oslo", 20, None, "ACTIVE")]
    assert (rome.action, rome.superseded) == (Action.SUPERSEDED, (oslo.memory.id,))
    assert rome.explanation == "stored as history: what is known already is newer"
    lima = known.says("Lima", 15)
    assert known.spans() == [
        ("Rome", 10, 15, "SUPERSEDED"),
        ("Lima", 15, 20, "SUPERSEDED"),
        ("Oslo", 20, None, "ACTIVE"),
    ]
    edges = {(c.winner, loser) for c in known.conflicts() for loser in c.losers}
    ids = [o.memory.id for o in (rome, lima, oslo)]
    assert edges >= {(ids[2], ids[1]), (ids[1], ids[0])}


def test_an_undated_newest_value_gets_a_date_from_what_was_true_before(known: Knowledge) -> None:
    oslo = known.says("Oslo")
    start = known.now
    known.says("Rome", 10)
    assert known.memory(oslo).valid_from == start
    assert (known.at(start - 1), known.at(start)) == (["Rome"], ["Oslo"])


def test_what_is_superseded_is_not_active_any_more(known: Knowledge) -> None:  # 8
    rome = known.says("Rome", 10)
    known.says("Oslo", 20)
    assert known.memory(rome).state_at(known.now) is State.SUPERSEDED


@pytest.mark.parametrize("first", ["2024", "2026"])
def test_merging_keeps_the_dates_of_both(known: Knowledge, first: str) -> None:  # 10
    times = {"2024": (24, 25), "2026": (26, 27)}
    for year in (first, *(times.keys() - {first})):
        known.says("tea", times[year][0], "hobby", valid_to=times[year][1], source=Provenance(document=year))
    (memory,) = known.state.memories.values()
    assert (memory.valid_from, memory.valid_to) == (24, 27)
    assert {source.document for source in memory.provenance} == {"2024", "2026"}


def test_an_update_goes_through_the_same_rules(known: Knowledge) -> None:  # 11
    known.says("Rome", 10)
    other = known.says("something", 20, "note")
    known.update(other.memory.id, predicate="lives_in", object_text="Oslo")
    assert known.spans() == [("Rome", 10, 20, "SUPERSEDED"), ("Oslo", 20, None, "ACTIVE")]


def test_an_updated_memory_never_conflicts_with_itself(known: Knowledge) -> None:
    rome = known.says("Rome", 10)
    known.update(rome.memory.id, object_text="Oslo")
    assert known.spans() == [("Oslo", 10, None, "ACTIVE")]
    assert known.conflicts() == []


def test_a_negation_supersedes_what_it_denies(known: Knowledge) -> None:  # 13
    vim = known.likes("Vim")
    known.likes("Python", -1.0)
    known.likes("Vim", -1.0, manner=Manner.CHANGED)
    assert known.memory(vim).state is State.SUPERSEDED
    assert known.current() == ["not Python", "not Vim"]


def test_the_end_of_a_job_ends_it_and_no_other(known: Knowledge) -> None:
    acme = known.says("Acme", 10, "employer")
    gone = known.says("acme", 30, "employer", negated=True)
    assert known.spans() == [("Acme", 10, 30, "SUPERSEDED"), ("not acme", 30, None, "ACTIVE")]
    assert gone.superseded == (acme.memory.id,)
    assert known.conflicts()[0].rule is Rule.NEGATION
    known.says("Bolt", 40, "employer")
    assert known.current() == ["Bolt", "not acme"]


def test_a_denial_of_what_nobody_said_is_a_fact(known: Knowledge) -> None:
    known.says("Bolt", 10, "employer")
    denied = known.says("Acme", 20, "employer", negated=True)
    assert denied.action is Action.CREATED
    assert known.current() == ["Bolt", "not Acme"]


def test_merging_big_texts_cuts_nothing(known: Knowledge) -> None:  # 14
    one, other = "a" * 6_000, "b" * 6_000
    known.remember(Fact(f"I live in Rome {one}", predicate="lives_in", object_text="Rome"))
    known.remember(Fact(f"I live in Rome {other}", predicate="lives_in", object_text="Rome"))
    assert sorted(len(m.text) for m in known.state.memories.values()) == [6_015, 6_015]
    assert known.conflicts() == []


def test_an_old_document_deletes_nothing(known: Knowledge) -> None:  # 16
    chat = known.says("Oslo", 20, source=said(20))
    document = Provenance(document="cv", time=5)
    old = known.says("Rome", 5, source=document, said_by=Source.DOCUMENT)
    assert known.memory(chat).state is State.ACTIVE
    assert known.memory(old).state is State.SUPERSEDED
    assert len(known.state.memories) == 2


def test_one_successor_at_the_top(known: Knowledge) -> None:  # 17
    rules = ConflictRules(cardinalities={"ceo": Cardinality.SINGLE})
    known = Knowledge(rules)
    acme = known.entity("Acme")
    alice = known.says("Alice", 1, "ceo", subject=acme)
    bob = known.says("Bob", 6, "ceo", subject=acme)
    assert known.current() == ["Bob"]
    assert known.conflicts()[0].winner == bob.memory.id
    assert known.memory(alice).valid_to == 6


def test_the_same_fact_in_other_words_adds_its_evidence(known: Knowledge) -> None:
    episodes = [known.remember(Episode(text)).memory.id for text in ("I live in Rome", "My home is in Rome")]
    first = known.remember(
        Fact("I live in Rome", predicate="lives_in", object_text="Rome"),
        source=Provenance(derived_from=(episodes[0],), time=10),
    )
    second = known.remember(
        Fact("My home is in Rome", predicate="home", object_text="rome"),
        source=Provenance(derived_from=(episodes[1],), time=20),
    )
    assert (second.action, second.memory.id) == (Action.MERGED, first.memory.id)
    assert [s.derived_from for s in second.memory.provenance] == [(episodes[0],), (episodes[1],)]


def test_there_and_back_again(known: Knowledge) -> None:
    for value, at in (("A", 10), ("B", 20), ("A", 30)):
        known.says(value, at)
    assert known.spans() == [
        ("A", 10, 20, "SUPERSEDED"),
        ("B", 20, 30, "SUPERSEDED"),
        ("A", 30, None, "ACTIVE"),
    ]
    known.says("A", 15, source=said(15))
    assert len(known.spans()) == 3, "a source of the first time belongs to it"
    assert [s.time for s in known.memory(known.conflicts()[0].losers[0]).provenance] == [15]


def test_what_was_said_again_later_is_not_ended_by_what_was_said_before(known: Knowledge) -> None:
    first = known.says("Rome", source=said(10))
    known.says("Rome", source=said(30))
    known.says("Oslo", 20, source=said(20))
    assert known.spans() == [
        ("Rome", None, 20, "SUPERSEDED"),
        ("Oslo", 20, 30, "SUPERSEDED"),
        ("Rome", 30, None, "ACTIVE"),
    ]
    assert known.memory(first).state is State.ACTIVE
    assert [known.at(t) for t in (19, 20, 29, 30)] == [["Rome"], ["Oslo"], ["Oslo"], ["Rome"]]


def test_a_correction_leaves_no_time_to_what_was_wrong(known: Knowledge) -> None:
    wrong = known.says("Rome", 10)
    right = known.corrects("Oslo", 20)
    assert known.spans() == [("Rome", 10, 10, "SUPERSEDED"), ("Oslo", 10, None, "ACTIVE")]
    assert known.at(10) == known.at(15) == ["Oslo"]
    (conflict,) = known.conflicts()
    assert (conflict.resolution, conflict.losers) == (Resolution.CORRECTED, (wrong.memory.id,))
    assert right.explanation == "it corrects what was known, which never was true"


def test_a_plan_waits_for_its_time(known: Knowledge) -> None:
    rome = known.says("Rome", 10)
    known.says("Oslo", 5_000)
    assert known.memory(rome).state_at(known.now) is State.ACTIVE
    assert known.memory(rome).state_at(5_000) is State.SUPERSEDED
    assert (known.at(4_999), known.at(5_000)) == (["Rome"], ["Oslo"])
    paris = known.says("Paris", 900)
    assert known.memory(rome).state_at(known.now) is State.SUPERSEDED
    assert known.memory(paris).state_at(known.now) is State.ACTIVE
    assert known.memory(paris).state_at(5_000) is State.SUPERSEDED
    assert known.memory(rome).valid_to == 900


def test_times_that_do_not_meet_do_not_conflict(known: Knowledge) -> None:
    known.says("Rome", 10, valid_to=20)
    known.says("Oslo", 30)
    assert known.conflicts() == []
    assert (known.at(15), known.at(25), known.at(35)) == (["Rome"], [], ["Oslo"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Fact("f", predicate="lives_in", object_text="Rome"), Fact("f", predicate="Lives In", object_text=" ROME ")),
        (Fact("f", predicate="lives_in", object_text="Ｒｏｍｅ"), Fact("f", predicate="住址", object_text="Rome.")),
        (
            Fact("f", predicate="job", object_text="a teacher"),
            Fact("f", predicate="job", object_text="The teacher"),
        ),
        (Fact("f", predicate="age", object_value="31"), Fact("f", predicate="age", object_value=" 31")),
        (Fact("f", predicate="age", object_value='"31"'), Fact("f", predicate="age", object_text="31")),
    ],
)
def test_a_value_is_the_same_however_it_is_written(known: Knowledge, one: Fact, other: Fact) -> None:
    known.remember(one)
    known.remember(other)
    assert known.conflicts() == []


def test_an_entity_is_the_same_value_as_its_names(known: Knowledge) -> None:
    rome = known.remember(Entity("Rome", aliases=("Roma",))).memory.id
    known.remember(Fact("f", predicate="lives_in", object_entity=rome))
    known.says("roma")
    assert known.conflicts() == []
    known.says("Oslo")
    assert len(known.conflicts()) == 1


def test_many_values_of_what_has_many_stand_together(known: Knowledge) -> None:
    for value in ("English", "Chinese"):
        known.says(value, attribute="speaks")
    known.says("tea", attribute="something that nobody has listed")
    known.says("milk", attribute="something that nobody has listed")
    assert known.conflicts() == []


def test_preferences_of_one_kind_have_one_favourite(known: Knowledge) -> None:
    known.remember(Preference("blue is my favourite", "favourite:colour", "blue", 1.0), valid_from=10)
    known.remember(Preference("pizza is my favourite", "favourite:food", "pizza", 1.0), valid_from=11)
    known.remember(Preference("green is my favourite", "favorite color", "green", 1.0), valid_from=20)
    assert known.current() == ["green", "pizza"]


def test_a_time_within_another_one_leaves_it_before_and_after(known: Knowledge) -> None:
    rome = known.says("Rome", 10)
    known.says("Oslo", 20, valid_to=30)
    assert [known.at(t) for t in (15, 25, 35)] == [["Rome"], ["Oslo"], ["Rome"]]
    assert known.current() == ["Rome"]
    assert known.memory(rome).state is State.ACTIVE
    assert len(known.state.memories) == 3
    (conflict,) = known.conflicts()
    known.undo(conflict.id)
    assert known.memory(rome).valid_from == 10
    assert known.current() == ["Oslo", "Rome"]


def test_what_has_been_so_since_before_is_so_again_after_what_came_between(known: Knowledge) -> None:
    known.says("Oslo", 20, valid_to=30)
    rome = known.says("Rome", 10)
    assert [known.at(t) for t in (15, 25, 35)] == [["Rome"], ["Oslo"], ["Rome"]]
    assert known.memory(rome).state is State.ACTIVE
    known.undo(known.conflicts()[0].id)
    assert known.memory(rome).valid_from == 10


def test_a_journey_that_lies_ahead_leaves_the_home_where_it_is(known: Knowledge) -> None:
    known.says("Rome", 10)
    known.says("Oslo", 2_000, valid_to=3_000)
    there = known.state.memories.values()
    seen = {now: sorted(value_of(m) for m in there if true_at(m, now)) for now in (1_500, 2_500, 3_500)}
    assert seen == {1_500: ["Rome"], 2_500: ["Oslo"], 3_500: ["Rome"]}
    assert "Rome" in known.current()


def test_what_was_over_already_ends_nothing(known: Knowledge) -> None:
    bolt = known.says("Bolt", 10, "employer")
    known.says("Acme", None, "employer", valid_to=500)
    assert known.memory(bolt).valid_to is None
    assert known.conflicts() == []
    assert known.at(600) == ["Bolt"]


def test_quantities_and_experiences_meet_in_their_own_slots(known: Knowledge) -> None:
    known.remember(Fact("I have 1,200 commits", predicate="commits", object_text="1,200"), valid_from=10)
    known.remember(Fact("I have 40 open pull requests", predicate="pull requests", object_text="40"), valid_from=11)
    newer = Fact("I now have 1,350 commits", predicate="commits", object_text="1,350")
    known.remember(newer, valid_from=20, manner=Manner.CHANGED)
    assert known.current() == ["1,350", "40"]
    wrote: dict[str, Any] = {"predicate": "experience", "object_text": "wrote Flask routes"}
    known.remember(Fact("I have never written any Flask routes", negated=True, **wrote))
    done = known.remember(Fact("I wrote Flask routes yesterday", **wrote))
    assert done.action is Action.CONFLICT_FLAGGED
    assert known.conflicts(ConflictState.OPEN)[0].rule is Rule.EXPERIENCE
