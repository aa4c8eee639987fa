"""The signals of candidate rows, read from the columns of a resident partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.events import Matrix
from memsidecar.domain.question import Analysis
from memsidecar.domain.ranking import Signals, Values
from memsidecar.domain.recall import Tier
from memsidecar.domain.traits import Trait
from memsidecar.services.echoes import echoes
from memsidecar.services.resident import Chat, Resident
from memsidecar.services.resident.columns import NEVER, NO_ROW
from memsidecar.services.sources import Found, RowNumbers, each_once

# Beyond so many chunks a text is a document, and further ones take nothing from its cosine.
MANY_CHUNKS = 8
EARLIEST = -NEVER // 2
# Among the candidates, so many standing instructions count in full.
FEW_INSTRUCTIONS = 5
# As plain numbers: numpy asks an enumeration's class for ten attributes, each time.
_ASSISTANT, _INSTRUCTION, _PREFERENCE = int(Trait.ASSISTANT), int(Trait.INSTRUCTION), int(Trait.PREFERENCE)


def with_neighbours(rows: RowNumbers, resident: Resident, mask: NDArray[np.bool_]) -> RowNumbers:
    """The rows, and the episodes before and after them that the mask allows, which share their relevance: sorted, each
    once."""
    columns = resident.columns
    around: Any = np.concatenate([columns["previous"][rows], columns["following"][rows]]).astype(np.int64)
    around = around[around != NO_ROW]
    return each_once(np.concatenate([rows, around[mask[around]]]) if len(around) else rows)


def gather(
    resident: Resident,
    rows: RowNumbers,
    analysis: Analysis,
    entities: tuple[str, ...],
    found: Mapping[Tier, Found],
    vector: Matrix | None,
) -> Signals:
    """The signals of sorted rows, given what the sources found."""
    columns: Any = resident.columns
    traits, session = columns["traits"][rows], columns["session"][rows]
    chats = _chats(resident, session)
    dialogue, assisted = _of(chats, Chat.DIALOGUE), _of(chats, Chat.ASSISTED)
    cues = analysis.cues
    advice = bool(analysis.embed_text) and not (cues.past or cues.narrow or analysis.people)
    present = int(np.bitwise_or.reduce(traits))
    keyword, cosine = _keyword(rows, found.get(Tier.KEYWORD)), _cosine(resident, rows, found.get(Tier.VECTOR), vector)
    standing = traits if dialogue is None else np.where(dialogue, traits & _ASSISTANT, traits)
    return Signals(
        keyword=keyword,
        cosine=cosine,
        said=columns["said"][rows],
        importance=columns["importance"][rows],
        confidence=columns["confidence"][rows],
        chunks=_chunks(columns["chunks"][rows]),
        entity=_entity(resident, rows, entities),
        speaker=_speaker(resident, rows, analysis),
        assistant=_having(traits, _ASSISTANT) if present & _ASSISTANT and not cues.assistant else None,
        instruction=_shared_out(_having(standing, _INSTRUCTION)) if present & _INSTRUCTION and advice else None,
        preference=_having(standing, _PREFERENCE) if present & _PREFERENCE and advice else None,
        date=_dated(columns["said"][rows], analysis),
        dialogue=dialogue,
        assisted=assisted,
        echo=echoes(resident, rows, analysis, keyword + cosine, assisted),
        before=_places(rows, columns["previous"][rows]) if dialogue is not None else None,
        after=_places(rows, columns["following"][rows]) if dialogue is not None else None,
        session=session if dialogue is not None else None,
        usefulness=_any(columns["usefulness"][rows]),
        accesses=_any(columns["accesses"][rows]),
    )


def _any(values: Any) -> Any:
    """The values; None when all are 0."""
    return values if values.any() else None


def _keyword(rows: RowNumbers, found: Found | None) -> Values:
    if found is None or found.values is None:
        return np.zeros(len(rows), dtype=np.float32)
    return found.values[rows]


def _cosine(resident: Resident, rows: RowNumbers, found: Found | None, vector: Matrix | None) -> Values:
    cosine = np.zeros(len(rows), dtype=np.float32)
    if found is not None and found.values is not None and vector is not None:
        known = np.zeros(len(rows), dtype=np.bool_)
        places = np.searchsorted(rows, found.rows)
        cosine[places], known[places] = found.values, True
        if not known.all():
            cosine[~known] = resident.vectors.score(vector, rows[~known].astype(np.int32))
    return cosine


def _chats(resident: Resident, session: Any) -> Any:
    """The kind of talk that each row belongs to; None when all are notes."""
    kinds = resident.chat_kinds()
    if not len(kinds) or not kinds.any():
        return None
    known = session < len(kinds)
    return kinds[session] if known.all() else np.where(known, kinds[np.minimum(session, len(kinds) - 1)], 0)


def _of(chats: Any, kind: Chat) -> NDArray[np.bool_] | None:
    """Which rows are of a kind of talk; None when none is."""
    if chats is None:
        return None
    found: NDArray[np.bool_] = chats == kind
    return found if found.any() else None


def _chunks(count: Any) -> Values | None:
    """Logarithms; None when no text has a second chunk."""
    return np.log(np.clip(count, 1, MANY_CHUNKS)).astype(np.float32) if count.max(initial=0) > 1 else None


def _having(traits: Any, trait: int) -> Values | None:
    having = traits & trait
    return (having > 0).astype(np.float32) if having.any() else None


def _shared_out(having: Values | None) -> Values | None:
    """Less for each when there are many: instructions must not fill the answer."""
    if having is None:
        return None
    count = float(having.sum())
    return having if count <= FEW_INSTRUCTIONS else having * np.float32(FEW_INSTRUCTIONS / count)


def _speaker(resident: Resident, rows: RowNumbers, analysis: Analysis) -> Values | None:
    """1 for rows that the one person asked about said."""
    if len(analysis.people) != 1:
        return None
    number = resident.columns.speakers.find(analysis.people[0])
    spoken: Any = resident.columns["speaker"][rows] == number
    return np.asarray(spoken, dtype=np.float32)


def _dated(said: Any, analysis: Analysis) -> Values | None:
    """1 for rows said in a time that the question names, one half for those that it may still mean."""
    if not analysis.times:
        return None
    found = np.zeros(len(said), dtype=np.float32)
    for span in analysis.times:
        start, end = span.start if span.start is not None else EARLIEST, span.end if span.end is not None else NEVER
        if span.slack:
            near = (said >= max(start - span.slack, EARLIEST)) & (said < min(end + span.slack, NEVER))
            found = np.maximum(found, near * np.float32(0.5))
        found[(said >= start) & (said < end)] = 1.0
    return found


def _entity(resident: Resident, rows: RowNumbers, entities: tuple[str, ...]) -> Values | None:
    """The share of the question's entities that a row mentions."""
    if not entities:
        return None
    share = np.zeros(len(rows), dtype=np.float32)
    for entity in entities:
        share += np.isin(rows, resident.lookup.about(entity).astype(np.int64))
        own = resident.lookup.rows.get(entity)
        share += rows == (own if own is not None else NO_ROW)
    return np.minimum(share / len(entities), np.float32(1.0))


def _places(rows: RowNumbers, neighbours: Any) -> NDArray[np.intp]:
    """Where a neighbour stands among the candidates, -1 when it is not one."""
    places = np.searchsorted(rows, neighbours)
    places[places == len(rows)] = 0
    places[rows[places] != neighbours] = -1
    return np.asarray(places, dtype=np.intp)
