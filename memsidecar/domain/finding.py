"""What `memsidecar verify` found."""

from __future__ import annotations

from dataclasses import dataclass

from memsidecar.domain.scope import Partition


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a store does not say what the ledger says, or where the ledger is not what was written.

    `store` is one of ledger, graph, vectors, keywords. `partition` is None when it concerns the whole store.
    `subject` names the memory, revision or file, and `problem` says what is wrong with it; both are safe to print.
    """

    store: str
    partition: Partition | None
    subject: str
    problem: str
    repaired: bool = False
