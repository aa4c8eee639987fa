from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.memory import Episode, Fact, Memory, Preference
from memsidecar.domain.scope import Scope
from memsidecar.domain.slot_words import rarity_among
from memsidecar.domain.slots import (
    BEARS,
    OPPOSED,
    SAME,
    Slot,
    bears_on,
    opposed,
    same_slot,
    same_value,
    single_valued,
    slot_of,
)
from memsidecar.domain.tokens import tokens


def memory(body: Fact | Preference | Episode) -> Memory:
    return Memory("m", Scope("n", "u"), body, 0, 0)


def fact(predicate: str, value: str, statement: str = "", *, negated: bool = False, subject: str = "") -> Slot:
    slot = slot_of(memory(Fact(statement, subject, predicate, object_text=value, negated=negated)))
    assert slot is not None
    return slot


def test_an_attribute_of_the_table_is_its_key_however_it_is_called() -> None:
    assert fact("lives in", "Rome").family == fact("Home_City", "Oslo").family == fact("住址", "罗马").family


def test_what_no_table_has_and_no_number_states_is_its_predicate() -> None:
    assert fact("Shoe brand", "Acme") == Slot("", "shoe brand", value="acme")


def test_an_episode_has_no_slot() -> None:
    assert slot_of(memory(Episode("hello"))) is None


@pytest.mark.parametrize(
    ("predicate", "value", "family"),
    [
        ("test coverage", "78%", "quantity:%"),
        ("response time", "250ms", "quantity:s"),
        ("response time", "0.25 s", "quantity:s"),
        ("commits merged into main", "165", "quantity:commit"),
        ("number of mentees", "7", "quantity:mente"),
        ("read books", "three", "quantity:book"),
        ("project deadline", "March 3", "quantity:date"),
        ("提交 代码", "165次", "quantity:代码"),
    ],
)
def test_a_quantity_is_of_its_unit_or_of_what_is_counted(predicate: str, value: str, family: str) -> None:
    assert fact(predicate, value).family == family


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("test coverage on my API module", "65%"), ("unit test coverage for my API", "78%")),
        (("commits", "150", "pushed with 150 commits and 12 branches merged"), ("commits merged into main", "165")),
        (("budget for the trip", "$1,500"), ("trip budget", "$2,000")),
        (("meeting with Laura", "March 10"), ("meeting with Laura", "March 12")),
        (("calls/day", "1000"), ("daily quota calls per day", "1,200")),
        (("测试覆盖率", "65%"), ("测试覆盖率", "78%")),
    ],
)
def test_a_change_is_of_what_was_said_before_in_other_words(older: tuple[str, ...], newer: tuple[str, ...]) -> None:
    assert same_slot(fact(*older), fact(*newer), changed=True) >= SAME


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("quiz score in biology", "80%"), ("quiz score in chemistry", "90%")),
        (("scored on the first exam", "80%"), ("scored on the second exam", "90%")),
        (("error rate of the checkout", "4%"), ("bounce rate of the page", "35%")),
        (("calls/minute", "60"), ("calls per day", "1,200")),
        (("goal: test coverage", "90%"), ("test coverage", "78%")),
        (("read books", "5"), ("bought shirts", "7")),
        (("response time", "250ms"), ("response time training", "2 weeks")),
        (("买 书", "3本"), ("买 衣服", "2件")),
    ],
)
def test_other_things_are_of_other_slots_even_when_something_has_changed(
    older: tuple[str, str], newer: tuple[str, str]
) -> None:
    assert same_slot(fact(*older), fact(*newer), changed=True) < SAME


def test_without_a_word_of_change_the_newer_one_must_name_nothing_else() -> None:
    older = fact("secured interviews for executive roles", "3")
    assert same_slot(older, fact("secured interviews", "5")) >= SAME
    assert same_slot(older, fact("secured interviews at Acme", "5")) < SAME


def test_two_dates_are_of_one_thing_only_when_the_date_was_moved() -> None:
    older, newer = fact("dentist appointment", "May 3"), fact("dentist appointment", "May 9")
    assert same_slot(older, newer) < SAME <= same_slot(older, newer, changed=True)


def test_the_value_before_confirms_or_denies_the_older_one() -> None:
    newer = fact("quiz score", "90%", "my quiz score improved from 70% to 90%")
    assert same_slot(fact("quiz score", "70%"), newer, changed=True) > same_slot(
        fact("quiz score", "82%"), newer, changed=True
    )


def test_words_that_come_everywhere_tell_less() -> None:
    older, newer = fact("problems", "5"), fact("algebra problems", "8")
    often = {"problem": 90}
    rarity = rarity_among(100, lambda stem: often.get(stem, 1))
    assert same_slot(older, newer, changed=True, rarity=rarity) < same_slot(older, newer, changed=True)


def test_two_texts_do_not_make_their_words_common() -> None:
    assert rarity_among(2, lambda _: 2)("deadline") > 0.5


@pytest.mark.parametrize(
    ("slot", "single"),
    [
        (fact("lives in", "Rome"), True),
        (fact("test coverage", "78%"), True),
        (fact("allergies", "nuts"), False),
        (fact("experience", "used Flask"), False),
        (fact("shoe brand", "Acme"), False),
    ],
)
def test_quantities_and_what_the_table_says_have_one_value_at_a_time(slot: Slot, single: bool) -> None:
    assert single_valued(slot) is single


def test_a_deadline_of_the_table_meets_one_in_the_words_of_the_text() -> None:
    assert same_slot(fact("deadline:essay", "April 15"), fact("essay deadline", "April 22"), changed=True) >= SAME


def test_what_is_anothers_is_of_another_slot() -> None:
    assert same_slot(fact("read books", "5", subject="ann"), fact("read books", "7"), changed=True) == 0


def test_one_amount_in_two_spellings_is_the_same_value() -> None:
    assert same_value(fact("response time", "250ms"), fact("response time", "0.25 s"))
    assert not same_value(fact("response time", "250ms"), fact("response time", "300ms"))
    assert same_value(fact("lives_in", "Rome"), fact("lives_in", "rome"))


@pytest.mark.parametrize(
    ("never", "done"),
    [
        ("written any Flask routes", "trying to implement the homepage route with Flask"),
        ("obtained an API key", "set up my API key"),
        ("attended any workshops or training sessions related to resume standards", "attended a workshop on resumes"),
        ("completed any problems involving medians or altitudes", "solved 8 problems on medians"),
        ("用过Flask", "用过Flask写接口"),
    ],
)
def test_a_deed_contradicts_the_denial_that_covers_it(never: str, done: str) -> None:
    denied, deed = fact("experience", never, never, negated=True), fact("experience", done, done)
    assert opposed(denied, deed) >= OPPOSED
    assert opposed(deed, denied) == opposed(denied, deed)


@pytest.mark.parametrize(
    ("never", "done"),
    [
        ("taken any geometry exams involving similarity", "trying to verify the similarity of two triangles"),
        ("been to Japan", "went to Korea last spring"),
        ("written any Flask routes", "started from scratch"),
        ("养过猫", "买了书"),
    ],
)
def test_another_deed_does_not(never: str, done: str) -> None:
    assert opposed(fact("experience", never, never, negated=True), fact("experience", done, done)) < OPPOSED


def test_two_denials_do_not_contradict_each_other() -> None:
    one = fact("experience", "used Flask", negated=True)
    assert opposed(one, one) == 0


def test_a_value_that_is_denied_contradicts_the_same_value_affirmed() -> None:
    assert opposed(fact("employer", "Acme"), fact("works at", "acme", negated=True)) >= OPPOSED
    assert opposed(fact("employer", "Acme"), fact("works at", "Initech", negated=True)) == 0


@pytest.mark.parametrize(
    ("question", "bears"),
    [
        ("What is my test coverage?", True),
        ("When did I run my tests first?", False),
        ("Which framework do I use?", False),
    ],
)
def test_a_question_bears_on_the_slot_whose_words_it_has(question: str, bears: bool) -> None:
    slot = fact("test coverage", "78%")
    assert (bears_on(slot, frozenset(tokens(question))) > BEARS) is bears


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=200), st.booleans())
def test_any_fact_has_the_same_slot_each_time_and_is_in_it(
    predicate: str, value: str, statement: str, negated: bool
) -> None:
    body = Fact(statement, "", predicate, object_text=value, negated=negated)
    slot = slot_of(memory(body))
    assert slot == slot_of(memory(body))
    if slot is not None:
        assert 0 <= same_slot(slot, slot, changed=True) <= 1
        assert opposed(slot, slot) == 0
        assert same_value(slot, slot)


def test_a_fact_of_half_a_megabyte_is_read_in_part() -> None:
    slot = fact("I have 5 " * 60_000, "5 books " * 60_000, "from 5% to " * 50_000)
    assert len(slot.value) < 1_000


def test_numbers_of_an_event_are_no_quantity() -> None:
    first, second = fact("event", "reached 65% after my first run"), fact("event", "reached 90% of the votes")
    assert (first.quantity, second.quantity) == (None, None)
    assert not single_valued(first)
