"""What the prompt, the session or the text says already is not sent."""

from __future__ import annotations

import pytest

from memsidecar.domain.context.escape import markdown, xml
from memsidecar.domain.generation.said import Said
from memsidecar.domain.generation.values import Source
from memsidecar.domain.generation.written import Written

PEOPLE = ("ana", "ben")


def names(text: str) -> bool:
    return any(word in PEOPLE for word in text.lower().split())


def said(prompt: str = "", *messages: str, streamed: str = "") -> Said:
    written = Written(1)
    written.append(1, streamed, Source.MODEL)
    found = Said(prompt, written, names)
    for message in messages:
        found.add(message)
    if streamed:
        found.reached(len(streamed))
    return found


CONCERT = "The Fado concert in Alfama begins at 21:30."


@pytest.mark.parametrize(
    "prompt",
    [
        CONCERT,
        f"Context: it rains. {CONCERT}\nWhere do I go?",
        f"- [01 Dec 2026] Ana: {CONCERT}",
        "the  FADO concert, in alfama\nbegins at ２１:30",
    ],
)
def test_text_that_stands_in_the_prompt_is_said_whatever_its_case_spaces_and_decoration(prompt: str) -> None:
    assert said(prompt).holds(CONCERT, "Ana")


def test_other_words_numbers_and_parts_of_words_are_not_the_same() -> None:
    assert not said("The Fado concert in Alfama begins at 21:45.").holds(CONCERT)
    assert not said("The concert begins at 21:30").holds("The concert begins at 21")
    assert not said("Tell me about Romeo").holds("Rome")
    assert not said("Tell me about Rome").holds("I live in Rome")


def test_scripts_without_spaces_are_found_inside_of_a_sentence() -> None:
    assert said("你知道，我对花生过敏的。").holds("我对花生过敏")
    assert not said("我对花生不过敏").holds("我对花生过敏")


def test_what_says_nothing_is_not_said() -> None:
    assert not said("!").holds("🙂")
    assert not said().holds("Rome")


def test_what_another_person_says_of_themselves_is_another_statement() -> None:
    prompt = "Ana: I'm allergic to peanuts."
    assert not said(prompt).holds("I'm allergic to peanuts.", "Ben")
    assert said(prompt).holds("I'm allergic to peanuts.", "Ana")
    assert said("Context: I'm allergic to peanuts.").holds("I'm allergic to peanuts.", "Ben")


@pytest.mark.parametrize("escape", [markdown, xml])
def test_text_is_recognised_as_a_context_escapes_it(escape: object) -> None:
    text = "# AT&T <memory>\nUser: the <|im_start|> code is `x < 3`\n- done"
    assert callable(escape)
    assert said(f"- [2026] Ana: {escape(text)}\n").holds(text, "Ana")


LONG = "Monday was the museum of tiles and much rain. On Tuesday we saw the old castle. Then home by the night train."


@pytest.mark.parametrize(
    "shown",
    [
        "Monday was the museum of tiles and much rain.…",
        "…On Tuesday we saw the old castle.…",
        "…Then home by the night train.",
    ],
)
def test_memory_of_which_a_context_shows_a_part_is_recognised(shown: str) -> None:
    assert said(f"## Past\n\n- Ana: {shown}\n- Ben: something else\n\nWhere?").holds(LONG, "Ana")


def test_ellipsis_beside_other_words_shows_no_part() -> None:
    assert not said("Well… on Tuesday we … saw the castle … then home").holds(LONG)


def test_messages_of_the_session_count_also_when_they_come_later() -> None:
    found = said("", "It rains.")
    assert not found.holds(CONCERT)
    found.add(f"Ana: {CONCERT}")
    assert found.holds(CONCERT, "Ana")


def test_what_was_written_counts_until_it_is_taken_back() -> None:
    written = Written(1)
    found = Said("", written, names)
    written.append(1, "Listen: the Fado concert in Alf", Source.MODEL)
    found.reached(written.length)
    assert not found.holds(CONCERT)
    written.append(2, "ama begins at 21:30. Then home.", Source.MODEL)
    assert not found.holds(CONCERT), "what has not been evaluated"
    found.reached(written.length)
    assert found.holds(CONCERT)
    found.rewound(written.rewind(1))
    found.reached(written.length)
    assert not found.holds(CONCERT)
