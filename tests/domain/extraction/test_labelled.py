"""The rules against the labelled sentences; those before "Changes" were written before the rules (R-P3)."""

from __future__ import annotations

import pytest

from memsidecar.domain.attributes import slot_of
from memsidecar.domain.extraction.extract import extract
from tests.domain.extraction.labelled import labelled, negatives, said_by, score, sentences

LANGUAGES = ["english", "chinese"]
# The issue asks for a precision of 0.9; the rest is what was reached, so that a change that loses some is seen.
LEAST_PRECISION = 0.97
LEAST_RECALL = 0.95


def test_the_set_is_large_bilingual_and_half_negative() -> None:
    counts = {language: (len(sentences(language)), len(negatives(language))) for language in LANGUAGES}
    assert sum(positive + negative for positive, negative in counts.values()) >= 300
    assert all(negative >= positive >= 90 for positive, negative in counts.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_read_is_right_and_most_is_read(language: str) -> None:
    reached = score(language)
    assert reached.precision >= LEAST_PRECISION, reached.wrong
    assert reached.recall >= LEAST_RECALL, reached.missed


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_read_from_what_states_nothing(language: str) -> None:
    read = {text: [said_by(claim) for claim in extract(text)] for text in negatives(language)}
    assert {text: said for text, said in read.items() if said} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_times_keep_their_place_and_their_role(language: str) -> None:
    wrong = []
    for text, labels in sentences(language).items():
        claims = {said_by(claim): claim for claim in extract(text)}
        for label in labels:
            said, role, words = labelled(label)
            claim = claims.get(said)
            if not words or claim is None:
                continue
            if claim.time is None or (text[claim.time.start : claim.time.end], claim.time_role.name.lower()) != (
                words,
                role,
            ):
                wrong.append((text, label, claim.time, claim.time_role))
    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_attribute_is_in_the_table(language: str) -> None:
    read = [claim for text in sentences(language) for claim in extract(text)]
    assert {claim.attribute for claim in read if slot_of(claim.attribute) is None} == set()
