"""Marks: what an answer says of its turns, and nothing more."""

from __future__ import annotations

from tests.quality.marks import Shown, Stated, marks

TURNS = {"e1": ["t1"], "e2": ["t2"], "f1": ["t1"], "f2": ["t2"], "both": ["t1", "t2"]}
OLD = Stated("f1", True, "f2", ("f2", "e2"))


def test_a_turn_is_superseded_when_what_holds_instead_was_put_above_it() -> None:
    found = marks([Shown("e2", counterpart_of="e1"), Shown("e1", [OLD])], TURNS)
    assert found == {"superseded": ["t1"], "conflicts": [["t1", "t2"]]}


def test_a_turn_of_which_a_statement_is_history_is_not_superseded_for_every_question() -> None:
    assert marks([Shown("e2"), Shown("e1", [OLD])], TURNS)["superseded"] == []
    assert marks([Shown("e1", [OLD])], TURNS)["superseded"] == []


def test_a_disputed_turn_is_linked_with_its_counterparts_once() -> None:
    disputed = Stated("f1", False, "", ("f2", "e2", "gone"))
    found = marks([Shown("e1", [disputed]), Shown("e2", counterpart_of="e1")], TURNS)
    assert found == {"superseded": [], "conflicts": [["t1", "t2"]]}


def test_a_turn_that_says_both_is_not_superseded_by_itself() -> None:
    assert marks([Shown("both", [OLD], "both")], TURNS)["superseded"] == []


def test_a_turn_that_contradicts_itself_is_linked_with_itself() -> None:
    never = Stated("never", False, "", ("done", "e1"))
    turns = {**TURNS, "never": ["t1"], "done": ["t1"]}
    assert marks([Shown("e1", [never])], turns)["conflicts"] == [["t1", "t1"]]
