"""Settling a conflict, and taking that back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Draft
from memsidecar.domain.events import Vectors
from memsidecar.domain.mentions import Mention


@dataclass(frozen=True, slots=True)
class Keep:
    memory_id: str
    correction: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Replace:
    draft: Draft
    found: tuple[Mention, ...] = ()
    vectors: Vectors | None = None
    digest: bytes | None = None
    correction: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    memory_id: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Split:
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Dismiss:
    pass


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    correction: bool = False


Choice: TypeAlias = Keep | Replace | Split | Dismiss | Answer


def resolve(decision: Decision, conflict_id: str, choice: Choice, etag: str, reason: str) -> Conflict:
    raise NotImplementedError


def undo(decision: Decision, conflict_id: str, etag: str, reason: str) -> Conflict:
    raise NotImplementedError
