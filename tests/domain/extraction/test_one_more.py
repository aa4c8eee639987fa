"""What is so besides what was so, and values that end where another sentence begins."""

from __future__ import annotations

import pytest

from memsidecar.domain.claims import Manner
from memsidecar.domain.extraction.extract import extract


@pytest.mark.parametrize(
    ("text", "manner"),
    [
        ("I work at Acme.", Manner.STATED),
        ("I work at Globex too.", Manner.ADDED),
        ("I also work at Initech.", Manner.ADDED),
        ("我也在阿里工作。", Manner.ADDED),
        ("I now work at Globex.", Manner.CHANGED),
        ("I also live in Oslo.", Manner.STATED),
        ("I no longer work at Acme too.", Manner.CHANGED),
    ],
)
def test_one_more_of_what_one_may_have_several(text: str, manner: Manner) -> None:
    assert [claim.manner for claim in extract(text)] == [manner]


def test_an_address_for_work_is_another_slot_than_one_for_oneself() -> None:
    assert [claim.attribute for claim in extract("My email is a@x.com.")] == ["email"]
    assert [claim.attribute for claim in extract("My work email is b@y.com.")] == ["email:work"]


def test_a_value_does_not_go_on_with_the_next_sentence_of_speech_without_points() -> None:
    claims = extract("i dont work at acme anymore i work at globex now")
    assert not any(" i " in f" {claim.value} " for claim in claims)


def test_who_changes_his_work_is_nothing_that_is_used() -> None:
    assert [(claim.attribute, claim.subject) for claim in extract("我老公换到美团了")] == [("employer", "我老公")]
