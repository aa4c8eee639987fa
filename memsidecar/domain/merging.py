"""The same content again: its source, its dates and what else it brings are added to the memory that has it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

from memsidecar.domain.conflicts.merging import back_again, joined
from memsidecar.domain.conflicts.settle import Challenge, Settled, neighbourhood, settle
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action, Draft, Outcome
from memsidecar.domain.events import NO_VECTORS, Change, MemoryRecorded, Vectors, VectorsRecorded
from memsidecar.domain.identity import digest_of
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.limits import MAX_LABELS, MAX_REPEATED
from memsidecar.domain.memory import Entity, Memory, Provenance, State
from memsidecar.domain.mentions import Mention
from memsidecar.domain.references import entity_for
from memsidecar.domain.text import normalise

# Sources kept on one memory; the oldest and the newest ones say most.
MAX_PROVENANCE = 64
# As many as a caller may give: merging must not lose what was accepted.
MAX_ALIASES = MAX_REPEATED
# Making a text of half a megabyte comparable takes 40 ms.
_COMPARED = 4_096


def merge_draft(
    decision: Decision, known: Memory, new: Memory, draft: Draft, vectors: Vectors | None, challenge: Challenge
) -> Outcome:
    """Add what a draft brings to the memory that says the same: `new` is the memory that it would be alone.

    It holds in the time of both; what this reaches into is settled as `settle` says. Raises ConflictRejected.
    """
    body = known.body
    if isinstance(body, Entity) and isinstance(new.body, Entity):
        body = _merge_entities(body, new.body)
    text = embedded_text(body)
    fitting = vectors if _shares_text(known, new, text) else None
    due = text != embedded_text(known.body) or not decision.view.has_vectors(known.id)
    new_vectors = fitting if due else None
    still_due = due and new_vectors is None
    slot = neighbourhood(decision, new, challenge)
    times = _widest(known, new) if slot is None else joined(back_again(known, new, slot), new)
    merged = replace(
        times,
        body=body,
        provenance=_with_source(known.provenance, draft.source),
        labels=_merge_labels(known, draft),
        attributes=known.attributes or draft.attributes,
        importance=max(known.importance, draft.importance),
        confidence=max(known.confidence, draft.confidence),
        expires_at=_later(known.expires_at, draft.expires_at),
        digest=known.digest if body == known.body and known.digest else digest_of(body, known.scope.agent),
    )
    settled = Settled(merged)
    if (merged.valid_from, merged.valid_to) != (known.valid_from, known.valid_to) and known.state is not State.DISPUTED:
        settled = settle(decision, merged, challenge)
        merged = settled.memory
    merged = replace(merged, mentions=_merge_mentions(decision, known, draft))
    if merged == known:
        if new_vectors is not None:
            decision.record(VectorsRecorded(known.id, new_vectors))
        return Outcome(Action.DUPLICATE, known, "the same content from the same source is stored already", still_due)
    merged = replace(merged, updated_at=decision.now, version=known.version + 1)
    reason = "the same content from another source"
    if new_vectors is None and text != embedded_text(known.body):
        new_vectors = NO_VECTORS
    settled.record(decision, MemoryRecorded(Change.MERGED, merged, new_vectors, decision.request.actor, reason))
    explanation = "the same content was stored already; this source was added"
    if settled.conflicts:
        explanation = f"{explanation}; {settled.explanation}"
    return Outcome(
        Action.MERGED if settled.action is Action.CREATED else settled.action,
        merged,
        explanation,
        still_due,
        settled.superseded,
        tuple(conflict.id for conflict in settled.conflicts),
    )


def _shares_text(known: Memory, new: Memory, text: str) -> bool:
    """Whether vectors of the draft's text serve for the merged one. Two bodies of one digest have one text, apart from
    entities, which may have another by now; one fact may be put in two ways. Long ones are compared as they are."""
    if not isinstance(new.body, Entity) and new.digest == known.digest:
        return True
    said = embedded_text(new.body)
    return said == text or (max(len(said), len(text)) <= _COMPARED and normalise(said) == normalise(text))


def _with_source(known: tuple[Provenance, ...], source: Provenance | None) -> tuple[Provenance, ...]:
    """The sources with one that says something new: another session, message, document or moment."""
    if source is None or source in known:
        return known
    sources = (*known, source)
    half = MAX_PROVENANCE // 2
    return sources if len(sources) <= MAX_PROVENANCE else (*sources[:half], *sources[-half:])


def _merge_labels(known: Memory, draft: Draft) -> Mapping[str, str]:
    """The draft's values win; beyond the limit its new keys are left out, so that filters by the known ones hold."""
    return dict(islice({**known.labels, **draft.labels}.items(), max(MAX_LABELS, len(known.labels))))


def _merge_mentions(decision: Decision, known: Memory, draft: Draft) -> tuple[str, ...]:
    """What is mentioned with what the caller of the draft says is mentioned; the text's own names are known already."""
    if isinstance(known.body, Entity):
        named: list[str | None] = []
    else:
        named = [entity_for(decision, Mention(name)) for name in draft.entity_names]
    mentions = dict.fromkeys((*known.mentions, *draft.mentions, *(entity for entity in named if entity is not None)))
    return tuple(mentions)[: max(MAX_REPEATED, len(known.mentions))]


def _merge_entities(known: Entity, other: Entity) -> Entity:
    # The spelling that a caller wrote is shown rather than the one that rules found.
    name = other.display_name if known.discovered and not other.discovered else known.display_name
    names = dict.fromkeys((*known.aliases, *other.aliases, known.display_name, other.display_name))
    names.pop(name, None)
    return replace(
        known,
        display_name=name,
        type=other.type or known.type,
        aliases=tuple(names)[:MAX_ALIASES],
        summary=other.summary or known.summary,
        discovered=known.discovered and other.discovered,
    )


def _widest(known: Memory, other: Memory) -> Memory:
    """Merging keeps all dates: the interval grows; an open end stays open."""
    return replace(
        known,
        valid_from=_earlier(known.valid_from, other.valid_from),
        valid_to=_later(known.valid_to, other.valid_to),
    )


def _earlier(known: int | None, other: int | None) -> int | None:
    return None if known is None or other is None else min(known, other)


def _later(known: int | None, other: int | None) -> int | None:
    return None if known is None or other is None else max(known, other)
