"""Rows that ask what the question asks, and what an assistant answered then: no evidence for the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.exchange import asks_the_same, prompt_of
from memsidecar.domain.memory import Kind
from memsidecar.domain.question import Analysis
from memsidecar.domain.ranking import Values
from memsidecar.domain.traits import Trait
from memsidecar.services.resident import Resident
from memsidecar.services.sources import RowNumbers

_ASSISTANT, _EPISODE = int(Trait.ASSISTANT), int(Kind.EPISODE)
# The rows nearest to the question that are read: what asks the same is near.
_READ = 12
# A question says nothing about its answer. What a model answered is no evidence of it, but when there is none it stands
# above what has nothing to do with the question.
_ASKED, _ANSWERED = 1.0, 0.75


def echoes(
    resident: Resident,
    rows: RowNumbers,
    analysis: Analysis,
    closeness: Values,
    assisted: NDArray[np.bool_] | None,
) -> Values | None:
    """How far the sorted `rows` are such, 0 to 1; None when none is, or when the question is after what an assistant
    said. Between people an answer is evidence, whoever asked."""
    columns: Any = resident.columns
    generated = (columns["traits"][rows] & _ASSISTANT) > 0
    if not analysis.terms or analysis.cues.assistant or not (generated.any() or assisted is not None):
        return None
    exchange = generated & (columns["speaker"][rows] == 0)
    candidates = exchange if assisted is None else exchange | (assisted & ~generated)
    places = np.flatnonzero(candidates & (columns["kind"][rows] == _EPISODE) & (closeness > 0))
    if len(places) > _READ:
        places = places[np.argsort(-closeness[places], kind="stable")[:_READ]]
    found = np.zeros(len(rows), dtype=np.float32)
    for place in places.tolist():
        text = resident.records.get(int(rows[place])).text
        prompt = prompt_of(text) if exchange[place] else text
        if prompt is None or not asks_the_same(prompt, analysis.terms):
            continue
        if exchange[place]:
            found[place] = _ANSWERED
            continue
        found[place] = _ASKED
        following = int(columns["following"][rows[place]])
        after = int(np.searchsorted(rows, following))
        if after < len(rows) and rows[after] == following and generated[after]:
            found[after] = _ANSWERED
    return found if found.any() else None
