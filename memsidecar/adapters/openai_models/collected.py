"""What has been found in one turn so far, in however many answers."""

from __future__ import annotations

from memsidecar.domain.claims import Claim
from memsidecar.domain.memory import Kind
from memsidecar.domain.text import normalise
from memsidecar.ports.extraction import Declined, Extracted

_Key = tuple[Kind, str, str, str, bool, bool]


class Collected:
    """Claims that say the same are one, the first of them: an answer repeats itself, and a second one the first."""

    def __init__(self) -> None:
        self._claims: dict[_Key, Claim] = {}
        self._rejected: list[Declined] = []

    def add(self, claim: Claim) -> bool:
        """Whether it says something new."""
        key = (
            claim.kind,
            normalise(claim.subject),
            normalise(claim.attribute),
            normalise(claim.value),
            claim.negated,
            claim.polarity < 0,
        )
        return self._claims.setdefault(key, claim) is claim

    def decline(self, reason: Declined) -> None:
        self._rejected.append(reason)

    def extracted(self) -> Extracted:
        """In the order in which the text says them."""
        claims = sorted(self._claims.values(), key=lambda claim: (claim.span.start, claim.span.end))
        return Extracted(tuple(claims), tuple(self._rejected))
