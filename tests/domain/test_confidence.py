"""How likely a hit is: equal numbers for equal relevance, in words and in pairs of characters."""

from __future__ import annotations

import pytest

from memsidecar.domain.confidence import hit_confidence
from memsidecar.domain.tokens import query_tokens, share_of_pairs

SCORES = [number / 50 for number in range(51)]


@pytest.mark.parametrize("pairs", [0.0, 0.3, 1.0])
def test_order_of_scores_is_the_order_of_confidences_in_any_script(pairs: float) -> None:
    confidences = [hit_confidence(score, 1.0, pairs) for score in SCORES]
    assert confidences == sorted(confidences)
    assert all(0.0 <= each <= 1.0 for each in confidences)


def test_question_in_words_is_judged_as_if_there_were_no_pairs() -> None:
    assert share_of_pairs(query_tokens("When does Benoît's café open?")) == 0.0
    assert hit_confidence(0.3, 0.4, 0.0) == hit_confidence(0.3, 0.4)


def test_question_in_both_is_between_the_two() -> None:
    share = share_of_pairs(query_tokens("Order 拿铁 for 小明"))
    assert 0.0 < share < 1.0
    words, both, characters = (hit_confidence(0.25, 0.25, each) for each in (0.0, share, 1.0))
    assert words < both < characters


def test_question_in_characters_is_all_pairs() -> None:
    assert share_of_pairs(query_tokens("晚饭给小本做花生面吧。")) == 1.0
    assert share_of_pairs([]) == 0.0


def test_score_that_is_usual_for_a_relevant_note_in_chinese_is_worth_an_interruption_and_one_by_chance_is_not() -> None:
    # Relevant notes have 0.16 and more, the best of unrelated ones 0.05 to 0.1.
    assert hit_confidence(0.165, 0.165, 1.0) > 0.2 > hit_confidence(0.1, 0.1, 1.0)
    assert hit_confidence(0.1, 0.165, 1.0) < 0.05
