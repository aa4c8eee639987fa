"""What an evaluation searches for."""

from __future__ import annotations

from memsidecar.domain.generation.machine import MAX_CONTEXT
from memsidecar.domain.generation.sentences import sentence_before
from memsidecar.domain.generation.values import Evaluation
from memsidecar.domain.rewriting import rewrite
from memsidecar.domain.session import Message, Role


def looked_for(evaluation: Evaluation, prompt: str) -> str:
    """What an evaluation searches for: the new text, with names and words from before it where it leans on them ("she
    keeps it there"). All of what is before would find again what it has found.

    The first sentence is searched for with what was asked last: "7 May" is an answer, and says nothing without its
    question. Measured on LoCoMo: 1.3 hits an answer that are noise instead of 2.4, evidence in time 44.7 instead of
    45.3 %.
    """
    if prompt and not evaluation.is_prompt and not evaluation.span_start:
        return f"{prompt[sentence_before(prompt, len(prompt), MAX_CONTEXT) :]}\n{evaluation.text}"
    new = evaluation.new_text
    before = evaluation.text[: len(evaluation.text) - len(new)]
    return rewrite(new, (Message(Role.USER, before),)) if before else new
