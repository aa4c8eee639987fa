"""Tokens of the store that is served: one of another history, such as from before a restore, is refused."""

from __future__ import annotations

from contextvars import ContextVar

from memsidecar.domain import revision as tokens
from memsidecar.domain.errors import RevisionUnknown
from memsidecar.domain.scope import Partition
from memsidecar.server.validation import Violations

_history: ContextVar[int] = ContextVar("history", default=0)


def serve_history(history: int) -> None:
    """Of which history the tokens are that the present call takes and gives."""
    _history.set(history)


def revision_token(partition: Partition, revision: int) -> str:
    return tokens.revision_token(partition, revision, _history.get())


def read_revision(token: str, partition: Partition, path: str, violations: Violations) -> int | None:
    """The revision; None without a token, or with a wrong one. Raises RevisionUnknown for one of another history,
    however far this one has come."""
    if not token:
        return None
    parsed = tokens.parse_revision(token, partition)
    if parsed is None:
        violations.add(f"{path}.token", f"is not a revision of {partition.name}")
        return None
    revision, history = parsed
    if history != _history.get():
        raise RevisionUnknown(str(revision), path.rpartition(".")[2])
    return revision


def bound_to_history(arguments: bytes) -> bytes:
    """What the token of a page is bound to: places in a list are counted by revisions."""
    history = _history.get()
    return arguments + b":" + history.to_bytes(8, "big") if history else arguments
