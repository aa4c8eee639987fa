"""All that the rules read in a text, each thing once."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.domain.claims import Claim
from memsidecar.domain.extraction.experience import claims_in as deeds_in
from memsidecar.domain.extraction.experience import may_do
from memsidecar.domain.extraction.extract import extract
from memsidecar.domain.extraction.guard import plays_a_part
from memsidecar.domain.extraction.masking import masked
from memsidecar.domain.extraction.offices import offices
from memsidecar.domain.extraction.prose import MAX_CHARS, clauses_of, prose_of
from memsidecar.domain.extraction.quantities import claims_in as quantities_in
from memsidecar.domain.extraction.quantities import may_count
from memsidecar.domain.slots import EVENT

# How a text begins says whether it is to be written, translated or played.
_BEGINNING = 200


def claims_read(text: str) -> Sequence[Claim]:
    """Attributes and preferences first; then quantities and experiences that are not parts of those."""
    if plays_a_part(masked(text[:_BEGINNING])):
        return ()
    named = (*extract(text), *offices(text))
    text = text[:MAX_CHARS]
    counts, does = may_count(text), may_do(text)
    if not (counts or does):
        return named
    prose = prose_of(text)
    clauses = clauses_of(prose)
    # What was done at a time is an event, and may all the same be what somebody says never to have done, or how much
    # something has come to.
    lasting = [claim for claim in named if claim.attribute != EVENT]
    counted = [claim for claim in (quantities_in(prose, clauses) if counts else ()) if not _is_part(claim, lasting)]
    done = [claim for claim in (deeds_in(prose, clauses) if does else ()) if not _is_part(claim, lasting)]
    return (*named, *counted, *done)


def _is_part(claim: Claim, named: Sequence[Claim]) -> bool:
    """Whether it is a part of what is read already: a height, an age, a deadline is no quantity besides."""
    start, end = claim.span.start, claim.span.end
    value = claim.value.casefold()
    return any(
        start < other.span.end and other.span.start < end and (value in other.value.casefold() or _within(claim, other))
        for other in named
    )


def _within(claim: Claim, other: Claim) -> bool:
    return other.value.casefold() in claim.value.casefold()
