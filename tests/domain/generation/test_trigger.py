from __future__ import annotations

import pytest

from memsidecar.domain.generation.trigger import QUIET, Triggers
from memsidecar.domain.generation.values import Trigger

SENTENCES = Trigger(min_chars=1000, on_entity_mention=False)
CHARS = Trigger(min_chars=10, on_sentence_end=False, on_entity_mention=False)
NAMES = Trigger(min_chars=1000, on_sentence_end=False)


def knows(*names: str) -> Names:
    return Names(names)


class Names:
    """Names as whole words, or anywhere when they are not ASCII; notes what it was asked."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.asked: list[str] = []

    def __call__(self, text: str) -> bool:
        self.asked.append(text)
        padded = "".join(c if c.isalnum() else " " for c in f" {text} ")
        return any(f" {name} " in padded if name.isascii() else name in text for name in self.names)


def reasons(trigger: Trigger, *texts: str, names: Names | None = None) -> list[int]:
    """The deltas, from 1, that are a reason."""
    triggers = Triggers(trigger, names or knows())
    found = []
    for number, text in enumerate(texts, 1):
        before = len(triggers)
        triggers.text(text, 0.0)
        if len(triggers) > before:
            found.append(number)
    return found


def test_so_many_new_code_points_are_a_reason_and_are_counted_anew() -> None:
    assert reasons(CHARS, "abcd", "efgh", "ij", "klmn", "opqrst", "🙂" * 9, "🙂") == [3, 5, 7]


def test_the_end_of_a_sentence_is_a_reason_in_any_language() -> None:
    assert reasons(SENTENCES, "He left", ". ", "She", " stayed. And", " so") == [2, 4]
    assert reasons(SENTENCES, "我住在", "北京。", "你呢", "？") == [2, 4]


def test_no_reason_is_found_that_was_not_asked_for() -> None:
    assert reasons(CHARS, "A. B. ", "C! ") == []
    assert reasons(NAMES, "Bo is. He ", "likes") == []


def test_a_name_is_a_reason_once_however_it_is_cut() -> None:
    names = knows("Anna", "Bob Smith", "王伟")
    assert reasons(NAMES, "I met ", "Anna", " today", " and", names=names) == [2]
    assert reasons(NAMES, "I met An", "na", " today", names=names) == [2]
    assert reasons(NAMES, "I met Bob", " Smi", "th and Anna", names=names) == [3]
    assert reasons(NAMES, "我见到王", "伟了", "，他", names=names) == [2]
    assert reasons(NAMES, "Joanna", " left", names=names) == []


def test_a_name_in_a_delta_that_was_a_reason_already_is_not_another_one() -> None:
    both = Trigger(min_chars=1000)
    assert reasons(both, "Anna left. ", "Then ", "it rained", names=knows("Anna")) == [1]


def test_what_names_are_looked_for_in_stays_short_and_begins_with_a_word() -> None:
    names = knows("Anna")
    triggers = Triggers(NAMES, names)
    for word in ["unbelievable "] * 20:
        triggers.text(word, 0.0)
    assert max(map(len, names.asked)) < 80
    assert all(asked.startswith(("unbelievable", " ")) for asked in names.asked)


def test_a_full_stop_at_the_end_is_decided_by_a_quiet_moment() -> None:
    triggers = Triggers(SENTENCES, knows())
    triggers.text("He left.", 5.0)
    triggers.settle(5.0 + QUIET / 2)
    assert len(triggers) == 0
    triggers.settle(5.0 + QUIET)
    assert len(triggers) == 1
    assert triggers.quiet_at is None


def test_more_text_puts_the_quiet_moment_off() -> None:
    triggers = Triggers(SENTENCES, knows())
    triggers.text("It is 3.", 5.0)
    triggers.text("14", 5.1)
    assert (len(triggers), triggers.quiet_at) == (0, None)


def test_another_source_decides_a_full_stop_too() -> None:
    triggers = Triggers(SENTENCES, knows())
    triggers.text("He left.", 0.0)
    triggers.border()
    assert len(triggers) == 1


def test_an_evaluation_answers_the_reasons_that_it_reaches() -> None:
    triggers = Triggers(CHARS, knows())
    for _ in range(4):
        triggers.text("x" * 10, 0.0)
    assert (triggers.reached(25), len(triggers)) == (2, 2)
    assert (triggers.reached(40), len(triggers)) == (2, 0)


def test_code_points_that_an_evaluation_has_seen_are_no_reason_for_the_next() -> None:
    triggers = Triggers(CHARS, knows())
    triggers.text("x" * 9, 0.0)
    triggers.reached(9)
    triggers.text("x", 0.0)
    assert len(triggers) == 0


@pytest.mark.parametrize(("length", "left"), [(40, 4), (39, 3), (20, 2), (5, 0), (0, 0)])
def test_reasons_in_dropped_text_are_gone(length: int, left: int) -> None:
    triggers = Triggers(CHARS, knows())
    for _ in range(4):
        triggers.text("x" * 10, 0.0)
    triggers.rewound(length, "x" * length, 0.0)
    assert len(triggers) == left
    triggers.text("x" * 10, 0.0)
    assert len(triggers) == left + 1


def test_after_a_rewind_a_sentence_ends_as_if_nothing_had_been_dropped() -> None:
    triggers = Triggers(SENTENCES, knows())
    triggers.text("Ask Dr", 0.0)
    triggers.text(". Smith. Or not", 0.0)
    triggers.rewound(6, "Ask Dr", 0.0)
    triggers.text(". Smith", 0.0)
    assert len(triggers) == 0
    triggers.text(". ", 0.0)
    assert len(triggers) == 1


def test_a_long_delta_leaves_the_sentence_at_its_end_under_way() -> None:
    triggers = Triggers(Trigger(on_entity_mention=False), knows())
    triggers.text("He left. " * 1000 + "It is 3.", 0.0)
    triggers.text("14 now", 0.0)
    assert len(triggers) == 1
    triggers.text("! ", 0.0)
    assert len(triggers) == 2
