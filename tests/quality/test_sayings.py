"""How the answer to a question of a data set is written as a model would."""

from __future__ import annotations

from tests.quality.sayings import Mode, pieces, saying

QUESTION = {"question": "Where did Ana move to?", "answer": "Porto, near the river"}
DIALOGUE = {"question": "Ana: 我搬家了。\nBot: 搬到哪里？\nAna: 河边的一个小房子。", "answer": ""}


def test_pieces_are_a_few_words_and_together_the_text() -> None:
    text = "She moved to Porto in May, near  the river."
    assert [*pieces(text)] == ["She moved to ", "Porto in May, ", "near  the river."]
    assert [*pieces("她搬到了河边的房子里。")] == ["她搬到了河边", "的房子里。"]
    assert "".join(pieces(f" {text}\n她搬了home。")) == f" {text}\n她搬了home。"


def test_question_is_the_prompt_or_is_not_told_or_is_restated() -> None:
    told = {mode: saying(QUESTION, mode) for mode in Mode}
    assert told[Mode.PROMPT].prompt == QUESTION["question"]
    assert told[Mode.ANSWER].prompt == told[Mode.RESTATED].prompt == ""
    assert "".join(told[Mode.PROMPT].deltas) == "Porto, near the river."
    restated = told[Mode.RESTATED]
    assert "".join(restated.deltas) == "To the question where did Ana move to: Porto, near the river."
    assert restated.deltas[restated.answer_seq - 1] == "Porto, near the "
    assert restated.last_seq == restated.answer_seq + 1


def test_last_line_of_a_dialogue_is_its_answer() -> None:
    told = saying(DIALOGUE, Mode.PROMPT)
    assert told.prompt.endswith("搬到哪里？")
    assert "".join(told.deltas) == "Ana: 河边的一个小房子。"
    whole = saying(DIALOGUE, Mode.RESTATED)
    assert "".join(whole.deltas) == DIALOGUE["question"]
    assert whole.deltas[whole.answer_seq - 1].startswith("Ana")
