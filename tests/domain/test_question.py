from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.question import analyse, names_any, without_assistant
from memsidecar.domain.text import entity_key

SPEAKERS = {entity_key(n): n for n in ("Caroline", "Ada Lovelace", "José", "王伟", "王", "कुमार", "user", "스코프 랩스")}
NAMES = {entity_key(n): f"id-{n}" for n in ("Wren", "Ada Lovelace", "北京大学", "Acme Corp", "C++")}


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("What did Caroline's sister say?", ("Caroline",)),
        ("what did caroline say to ADA LOVELACE", ("Caroline", "Ada Lovelace")),
        ("Joséphine left", ()),
        ("where is José", ("José",)),
        ("王伟去哪了", ("王伟",)),
        ("国王在哪", ()),
        ("कुमार कहाँ है", ("कुमार",)),
        ("스코프랩스에서", ("스코프 랩스",)),
        ("what did the user say", ()),
        ("", ()),
    ],
)
def test_speakers_are_recognised_in_any_script(text: str, people: tuple[str, ...]) -> None:
    assert analyse(text, {}, SPEAKERS).people == people


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("does wren like Acme corp?", ("id-Wren", "id-Acme Corp")),
        ("我在北京大学", ("id-北京大学",)),
        ("nobody", ()),
    ],
)
def test_entities_are_found_by_their_names(text: str, entities: tuple[str, ...]) -> None:
    assert analyse(text, NAMES, {}).entities == entities


def test_the_embedder_does_not_see_speakers() -> None:
    assert analyse("What did Caroline’s dog eat?", {}, SPEAKERS).embed_text == "What did dog eat?"
    assert analyse("Caroline?", {}, SPEAKERS).embed_text == "Caroline?"
    assert analyse("Where are José and Joséphine", {}, SPEAKERS).embed_text == "Where are and Joséphine"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Ann: I fly to Rome.\nAssistant: Try the pasta!\nIt is good.\nAnn: When?", "Ann: I fly to Rome.\nAnn: When?"),
        ("小明: 去哪\n助手：去公园吧\n小明: 好", "小明: 去哪\n小明: 好"),
        ("Assistant: hello\n", "Assistant: hello\n"),
        ("Shopping:\nmilk\nbread", "Shopping:\nmilk\nbread"),
        ("what did the assistant: say", "what did the assistant: say"),
    ],
)
def test_of_a_conversation_what_the_assistant_said_is_not_asked(text: str, left: str) -> None:
    assert without_assistant(text) == left


@pytest.mark.parametrize("text", ["我和小明明去了北京大学图书馆", "北京大学と小明明"])
def test_names_written_together_are_found_the_longest_first(text: str) -> None:
    names = {entity_key(n): n for n in ("小明", "小明明", "北京大学", "大学", "京")}
    assert set(analyse(text, names, {}).entities) == {"小明明", "北京大学"}


@given(st.text())
def test_any_question_can_be_analysed(text: str) -> None:
    found = analyse(text, NAMES, SPEAKERS)
    assert bool(found.embed_text.strip()) or not any(c.isalnum() for c in text)


@pytest.mark.parametrize("unit", ["A ", "@", "王", "ab'", "a-", "é ", '"A'])
@pytest.mark.timeout(20)
def test_a_question_of_pages_is_analysed_at_once(unit: str) -> None:
    analyse(unit * (64_000 // len(unit)), NAMES, SPEAKERS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I met Ann Lee's brother", True),
        ("I met Annabel", False),
        ("我和饼干在一起", True),
        ("", False),
        ("ann  lee", True),
    ],
)
def test_name_of_a_known_entity_is_found_wherever_it_stands(text: str, found: bool) -> None:
    assert names_any(text, {"ann lee": "e1", "饼干": "e2"}) is found
    assert not names_any(text, {})


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("Will it rain?", ()),
        ("May I ask?", ()),
        ("What will she do in May?", ()),
        ("When may we go, and will the others?", ()),
        ("what will they say", ()),
        ("What does Will do?", ("Will",)),
        ("what does will do", ("Will",)),
        ("Will you ask Will?", ("Will",)),
        ("Did May bake in May?", ("May",)),
        ("Will's hobbies", ("Will",)),
    ],
)
def test_a_verb_or_a_month_is_no_person_of_that_name(text: str, people: tuple[str, ...]) -> None:
    assert analyse(text, {}, {"will": "Will", "may": "May", "ann": "Ann"}).people == people
