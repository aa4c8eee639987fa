"""All that the rules read in a text, each thing once."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.domain.claims import Claim
from memsidecar.domain.extraction.experience import experience_claims
from memsidecar.domain.extraction.extract import extract
from memsidecar.domain.extraction.quantities import quantity_claims

EVENT = "event"


def claims_read(text: str) -> Sequence[Claim]:
    """Attributes and preferences first; then quantities and experiences that are not parts of those."""
    named = extract(text)
    counted = [claim for claim in quantity_claims(text) if not _is_part(claim, named)]
    # What was done at a time is an event, and may all the same be what somebody says never to have done.
    lasting = [claim for claim in named if claim.attribute != EVENT]
    done = [claim for claim in experience_claims(text) if not _is_part(claim, lasting)]
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
