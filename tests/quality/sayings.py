"""What a model might write to a question of a data set, and in which pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

# Words, or pairs of Chinese characters, of a delta: with one each PACE of `listening`, some 40 tokens a second.
WORDS = 3
_WORD = re.compile(r"\s*(?:[\u3400-\u9fff]{1,2}|[^\s\u3400-\u9fff]+)\s*")
_ENDS = ".!?。！？…"


class Mode(Enum):
    """How a question and its answer become a prompt and a text; the value is the title in the report."""

    PROMPT = "The question is the prompt, the answer is the text"
    ANSWER = "No prompt, the answer is the text"
    RESTATED = "No prompt, the text restates the question and answers it"


@dataclass(frozen=True, slots=True)
class Saying:
    """`deltas` have the seqs 1, 2, ...; the answer begins with the delta `answer_seq`."""

    prompt: str
    deltas: tuple[str, ...]
    answer_seq: int = 1

    @property
    def last_seq(self) -> int:
        return len(self.deltas)


def saying(question: dict[str, Any], mode: Mode) -> Saying:
    """Of a dialogue without an answer, the last line takes the place of the answer and those before it that of the
    question."""
    asked, answer = question["question"].strip(), str(question.get("answer", "")).strip()
    if not answer:
        before, _, answer = asked.rpartition("\n")
        asked, restated = before, before + "\n"
    else:
        restated = f"To the question {asked[:1].lower()}{asked[1:].rstrip('?？ ')}: "
    text = answer if answer.endswith((*_ENDS, '"')) else answer + "."
    if mode is not Mode.RESTATED:
        return Saying(asked if mode is Mode.PROMPT else "", tuple(pieces(text)))
    first = tuple(pieces(restated))
    return Saying("", (*first, *pieces(text)), len(first) + 1)


def pieces(text: str) -> Iterator[str]:
    """The text, in a few words each."""
    words = _WORD.findall(text)
    for start in range(0, len(words), WORDS):
        yield "".join(words[start : start + WORDS])
