from __future__ import annotations

from typing import Any

from memsidecar.domain.generation.selection import MAX_AGE, MAX_CHANGES, Selection
from memsidecar.domain.generation.values import Candidate, Evaluation, Reason, Terms
from tests.domain.generation.making import candidate, change, key, memory, sent


class Choosing:
    """A selection, and evaluations of text of which ten code points come each time."""

    def __init__(self, **terms: Any) -> None:
        self.selection = Selection(Terms(**terms))
        self.number = 0

    def begin(self) -> Evaluation:
        self.selection.reading()
        self.number += 1
        return Evaluation(self.number, "x" * 10, self.number, self.number * 10 - 10, self.number * 10, 0)

    def end(self, evaluation: Evaluation, *found: Candidate) -> list[str]:
        self.selection.found(evaluation, found)
        return self.sends()

    def find(self, *found: Candidate) -> list[str]:
        return self.end(self.begin(), *found)

    def allow(self, hits: int) -> list[str]:
        self.selection.allow(hits)
        return self.sends()

    def sends(self) -> list[str]:
        return sent(list(self.selection.sends()))


def test_the_best_are_sent_first_and_each_once() -> None:
    choosing = Choosing()
    assert choosing.find(candidate("a", 0.3), candidate("b", 0.9), candidate("c", 0.6)) == ["b", "c", "a"]
    assert choosing.find(candidate("a", 0.9), candidate("d", 0.1)) == ["d"]


def test_those_that_were_sent_do_not_count_among_the_most_of_an_evaluation() -> None:
    choosing = Choosing(max_hits=2)
    assert choosing.find(*(candidate(name, 0.5) for name in "abcd")) == ["a", "b"]
    assert choosing.find(*(candidate(name, 0.5) for name in "abcd")) == ["c", "d"]


def test_what_is_known_and_what_is_unlikely_is_not_sent() -> None:
    choosing = Choosing(known=frozenset([key("a")]), min_confidence=0.5)
    assert choosing.find(candidate("a", 0.9), candidate("b", 0.49), candidate("c", 0.5)) == ["c"]


def test_what_is_known_is_taken_back_and_sent_once_its_text_has_changed() -> None:
    choosing = Choosing(known=frozenset([key("a"), key("b")]))
    choosing.selection.knows([candidate("a", 0.9), candidate("b", 0.9)])
    assert choosing.find(candidate("a", 0.9), candidate("b", 0.9)) == []
    assert choosing.selection.changed(change("a", Reason.UPDATED, 2)) is not None
    assert choosing.selection.changed(change("a", Reason.UPDATED, 2)) is None
    assert choosing.selection.changed(change("b", Reason.DELETED, 2)) is not None
    assert choosing.selection.told() == {key("b")}, "what is left out of a search is not found by it"
    assert choosing.find(candidate("a", 0.9, version=2), candidate("b", 0.9, version=2)) == ["a"]
    assert (choosing.selection.sent, choosing.selection.retracted) == (1, 2)


def test_what_says_the_same_as_something_sent_is_not_sent() -> None:
    choosing = Choosing()
    assert choosing.find(candidate("a", text="Anna lives in Bonn.")) == ["a"]
    assert choosing.find(candidate("b", text="anna lives in bonn")) == []
    assert choosing.find(candidate("c", duplicates=("a",))) == []


def test_what_says_the_same_as_something_known_is_not_sent() -> None:
    choosing = Choosing(known=frozenset([key("a")]))
    assert choosing.find(candidate("b", duplicates=("a",)), candidate("c", duplicates=("d",))) == ["c"]


def test_of_two_that_say_the_same_the_better_is_sent() -> None:
    choosing = Choosing()
    assert choosing.find(candidate("a", 0.4, text="Bonn"), candidate("b", 0.8, text="bonn!")) == ["b"]


def test_when_what_was_sent_is_taken_back_another_that_says_the_same_may_be_sent() -> None:
    choosing = Choosing()
    choosing.find(candidate("a", text="Bonn"))
    choosing.selection.changed(change("a", Reason.DELETED, 3))
    assert choosing.find(candidate("b", text="Bonn")) == ["b"]


def test_the_most_hits_of_the_stream_are_kept() -> None:
    choosing = Choosing(max_total_hits=2, initial_credit=9)
    assert choosing.find(candidate("a"), candidate("b"), candidate("c")) == ["a", "b"]
    assert choosing.selection.exhausted
    assert choosing.selection.withheld == 0
    assert choosing.find(candidate("d")) == []


def test_the_most_tokens_of_the_stream_are_kept_and_what_still_fits_is_sent() -> None:
    choosing = Choosing(max_total_tokens=25)
    found = candidate("a", 0.9, 20), candidate("b", 0.8, 6), candidate("c", 0.7, 5)
    assert choosing.find(*found) == ["a", "c"]
    assert choosing.selection.exhausted


def test_without_credit_the_best_of_now_wait_not_the_oldest() -> None:
    choosing = Choosing(initial_credit=0, withheld=2)
    assert choosing.find(candidate("a", 0.6), candidate("b", 0.5), candidate("c", 0.9)) == []
    assert choosing.selection.withheld == 2
    choosing.find(candidate("d", 0.7))
    assert choosing.allow(1) == ["d"]
    assert choosing.allow(5) == ["c"]


def test_what_the_newest_text_finds_again_is_as_good_as_new() -> None:
    choosing = Choosing(initial_credit=0)
    choosing.find(candidate("a", 0.6), candidate("b", 0.6))
    choosing.find(candidate("b", 0.5))
    assert choosing.allow(2) == ["b", "a"]


def test_what_is_not_found_again_fades_until_it_is_dropped() -> None:
    choosing = Choosing(initial_credit=0, min_confidence=0.5)
    choosing.find(candidate("a", 0.6))
    choosing.find()
    assert choosing.selection.withheld == 0
    choosing = Choosing(initial_credit=0)
    choosing.find(candidate("a", 0.9))
    for _ in range(MAX_AGE):
        choosing.find()
    assert choosing.selection.withheld == 1
    choosing.find()
    assert choosing.selection.withheld == 0


def test_what_waits_and_says_the_same_as_the_newest_gives_way_to_it() -> None:
    choosing = Choosing(initial_credit=0)
    choosing.find(candidate("a", 0.9, text="Bonn"))
    choosing.find(candidate("b", 0.4, text="bonn"))
    assert choosing.allow(2) == ["b"]


def test_what_waits_goes_when_the_text_that_found_it_is_dropped() -> None:
    choosing = Choosing(initial_credit=0)
    prompt = Evaluation(0, "x", 0, 0, 50, 0)
    choosing.selection.reading()
    choosing.end(prompt, candidate("p"))
    choosing.find(candidate("a"))
    choosing.find(candidate("b"))
    choosing.selection.rewound(19)
    assert choosing.allow(9) == ["a", "p"]


def test_a_hit_that_stops_holding_is_retracted_once_and_its_successor_named() -> None:
    choosing = Choosing()
    choosing.find(candidate("a"))
    retract = choosing.selection.changed(change("a", Reason.SUPERSEDED, 3, memory("b")))
    assert retract is not None
    assert (retract.key, retract.reason, retract.successor) == (key("a"), Reason.SUPERSEDED, memory("b"))
    assert choosing.selection.changed(change("a", Reason.PURGED)) is None
    assert choosing.find(candidate("a", version=9)) == []


def test_what_was_not_sent_is_not_retracted() -> None:
    choosing = Choosing(initial_credit=0, known=frozenset([key("k")]))
    choosing.find(candidate("a"))
    assert choosing.selection.changed(change("a", Reason.DELETED, 3)) is None
    assert choosing.selection.changed(change("k", Reason.DELETED, 3)) is None
    assert choosing.selection.withheld == 0


def test_after_an_update_the_new_form_may_be_sent_once_more() -> None:
    choosing = Choosing()
    for version in (1, 2, 3):
        assert choosing.find(candidate("a", text=f"v {version}", version=version)) == ["a"]
        assert choosing.find(candidate("a", text=f"v {version}", version=version)) == []
        assert choosing.selection.changed(change("a", Reason.UPDATED, version + 1)) is not None
    assert choosing.selection.retracted == 3


def test_a_late_notice_does_not_take_back_the_form_that_it_is_about() -> None:
    choosing = Choosing()
    choosing.find(candidate("a", version=2))
    assert choosing.selection.changed(change("a", Reason.UPDATED, 2)) is None


def test_a_form_that_was_read_before_it_changed_is_not_sent_afterwards() -> None:
    choosing = Choosing()
    for name, reason, holds_from, version, expected in [
        ("a", Reason.UPDATED, 2, 1, []),
        ("b", Reason.UPDATED, 2, 2, ["b"]),
        ("c", Reason.DELETED, 3, 1, []),
        ("d", Reason.PURGED, None, 9, []),
    ]:
        evaluation = choosing.begin()
        choosing.selection.changed(change(name, reason, holds_from))
        assert choosing.end(evaluation, candidate(name, version=version)) == expected


def test_of_two_changes_meanwhile_the_later_counts() -> None:
    choosing = Choosing()
    evaluation = choosing.begin()
    choosing.selection.changed(change("a", Reason.UPDATED, 2))
    choosing.selection.changed(change("a", Reason.UPDATED, 3))
    choosing.selection.changed(change("b", Reason.PURGED))
    choosing.selection.changed(change("b", Reason.UPDATED, 3))
    assert choosing.end(evaluation, candidate("a", version=2), candidate("b", version=3)) == []


def test_what_was_sent_in_its_old_form_is_not_sent_in_it_again_by_an_evaluation_under_way() -> None:
    choosing = Choosing()
    choosing.find(candidate("a"))
    evaluation = choosing.begin()
    choosing.selection.changed(change("a", Reason.UPDATED, 2))
    assert choosing.end(evaluation, candidate("a")) == []
    assert choosing.find(candidate("a", version=2)) == ["a"]


def test_a_flood_of_changes_makes_an_evaluation_worthless_rather_than_memory_grow() -> None:
    choosing = Choosing()
    evaluation = choosing.begin()
    for number in range(MAX_CHANGES + 50):
        choosing.selection.changed(change(str(number), Reason.UPDATED, 2))
    assert not choosing.selection.found(evaluation, [candidate("a")])
    assert choosing.sends() == []
    assert choosing.find(candidate("a")) == ["a"]


def test_what_may_still_expire_is_told() -> None:
    choosing = Choosing(initial_credit=1)
    choosing.find(candidate("a", 0.9), candidate("b"))
    assert [each.key for each in choosing.selection.held()] == [key("a"), key("b")]
    choosing.selection.changed(change("a", Reason.EXPIRED, 2))
    assert [each.key for each in choosing.selection.held()] == [key("b")]
    assert choosing.selection.has_told(key("a"))
    assert not choosing.selection.has_told(key("b"))
