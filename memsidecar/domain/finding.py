"""What a verification finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A place where a store is not what the ledger says. `subject` is a memory id or a revision, may be empty.

    `store` is ledger, vectors, graph, keyword or snapshot. `repaired` says that it is right again.
    """

    store: str
    partition: str
    subject: str
    problem: str
    repaired: bool = False
