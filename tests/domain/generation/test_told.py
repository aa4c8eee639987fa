"""One statement is told once: as the text that says it, or as what was read from that."""

from __future__ import annotations

from dataclasses import replace

from memsidecar.domain.generation.said import Said
from memsidecar.domain.generation.told import Told
from memsidecar.domain.generation.values import Candidate
from memsidecar.domain.generation.written import Written
from memsidecar.domain.memory import Fact, Provenance
from tests.domain.generation.making import candidate, key

SISTER = "My sister lives in Porto."


def told(prompt: str = "") -> Told:
    return Told(Said(prompt, Written(1), lambda _: False))


def read_from(source: str, text: str = "sister lives in Porto", **changed: object) -> Candidate:
    """A fact that was read from the memory `source`."""
    one = candidate(f"fact of {source}", text=text)
    body = Fact(text, object_text=text.rpartition(" ")[2])
    memory = replace(one.hit.memory, body=body, provenance=(Provenance(derived_from=(source,)),), **changed)  # type: ignore[arg-type]
    return replace(one, hit=replace(one.hit, memory=memory))


def test_what_was_read_from_something_sent_is_told_until_that_is_taken_back() -> None:
    has, fact = told(), read_from("a")
    assert not has.covers(fact)
    has.add(candidate("a", text=SISTER))
    assert has.covers(fact)
    assert has.covered == {fact.key}
    has.remove(key("a"))
    assert not has.covered
    assert not has.covers(fact)


def test_text_that_hardly_says_more_than_what_was_sent_is_told_and_one_that_does_is_not() -> None:
    has = told()
    has.add(read_from("a"))
    assert has.covers(candidate("a", text=SISTER))
    assert not has.covers(candidate("a", text=f"{SISTER} She has two cats and works at the harbour."))
    assert not has.covers(candidate("b", text=SISTER))


def test_statement_that_was_changed_since_it_was_read_is_not_told_by_its_source() -> None:
    has = told()
    has.add(candidate("a", text=SISTER))
    assert not has.covers(read_from("a", "sister lives in Faro", version=2))
    assert has.covers(read_from("a", version=2))


def test_of_two_found_together_the_second_is_told_by_the_first() -> None:
    has, text, fact = told(), candidate("a", text=SISTER), read_from("a")
    assert has.covers(fact, [text])
    assert has.covers(text, [fact])
    assert not has.covers(text)


def test_what_was_read_from_something_that_the_prompt_says_is_told_and_the_other_way_round() -> None:
    source, fact = candidate("a", text=SISTER), read_from("a")
    assert told(SISTER).covers(replace(fact, sources=(source.hit.memory,)))
    assert told("The sister lives in Porto, I think").covers(replace(source, readings=(fact.hit.memory,)))


def test_what_has_been_written_anew_is_looked_at_anew() -> None:
    has = told(SISTER)
    assert has.covers(candidate("a", text=SISTER))
    has.rewritten([key("b")])
    assert has.covered == {key("a")}
    has.rewritten([key("a")])
    assert not has.covered
