"""Two or more memories of one slot that cannot all hold, and what was made of it.

A conflict holds references and no text: what its memories say is read from them, so that a purge takes it along.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from memsidecar.domain.memory import State


class ConflictState(IntEnum):
    """Where a conflict stands. Numbers are stored; never renumber."""

    OPEN = 1
    """Its memories are DISPUTED until somebody resolves it."""
    RESOLVED = 2
    DISMISSED = 3
    """No conflict after all; its memories are as they would be without it."""
    UNDONE = 4
    """Its resolution, which came with it, was taken back: its memories are as they were before."""


class Rule(IntEnum):
    """Why memories conflict. Numbers are stored; never renumber."""

    VALUE = 1
    """Another value of a slot that has one at a time: lives in Rome, lives in Oslo."""
    POLARITY = 2
    """Opposite wishes about one thing: likes and hates it."""
    NEGATION = 3
    """The same said and denied: works at Acme, works there no longer."""
    EXPERIENCE = 4
    """Something done that is said never to have been done."""


class Policy(IntEnum):
    """What a conflict leads to. Numbers are stored and are part of the API; never renumber."""

    AUTO = 1
    """Supersede when the user states it, it is not older in valid time and not less certain; flag otherwise."""
    SUPERSEDE = 2
    """The latest wins: by valid time, then by the time of recording."""
    FLAG = 3
    """Leave it open; both are disputed."""
    REJECT = 4
    """Refuse the new one."""
    KEEP_BOTH = 5
    """Both hold; the conflict is recorded as settled so."""
    ASK = 6
    """Leave it open, with a question for the user."""
    MOST_CONFIDENT = 7
    """The surer one wins; of equally sure ones the latest."""
    SOURCE_PRIORITY = 8
    """The better source wins (`Source`); of equal ones the latest."""


class Source(IntEnum):
    """Who says so, the less reliable first."""

    ASSISTANT = 1
    DOCUMENT = 2
    OTHER = 3
    USER = 4


class Resolution(IntEnum):
    """How a conflict was settled. Numbers are stored and are part of the API; never renumber."""

    NONE = 0
    CHANGED = 1
    """What the losers say was true until the winner became true."""
    CORRECTED = 2
    """What the losers say never was true."""
    KEPT_BOTH = 3
    SPLIT = 4
    """Each holds in its own time."""
    REPLACED = 5
    """None was right; the winner is a new memory."""


@dataclass(frozen=True, slots=True)
class Before:
    """What a resolution may change of a memory, as it was before: for the undo."""

    memory_id: str
    state: State
    updated_at: int
    valid_from: int | None = None
    valid_to: int | None = None
    superseded_at: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What supports one side: the episode, or the memory itself, and the code points (half-open) that say it."""

    memory_id: str
    source_id: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict as of one version. Times are microseconds since 1970-01-01 UTC.

    The slot is (`subject`, `attribute`): an entity id, empty for the user, and the slot's family. `memories` are in the
    order in which they became true. `winner` and `losers` are set once it is resolved by SUPERSEDES edges; an open one
    is CONTRADICTS edges. `severity` is 0 to 1: the importance of the most important of its memories.
    """

    id: str
    subject: str
    attribute: str
    rule: Rule
    memories: tuple[str, ...]
    created_at: int
    updated_at: int
    policy: Policy = Policy.AUTO
    state: ConflictState = ConflictState.OPEN
    resolution: Resolution = Resolution.NONE
    winner: str = ""
    losers: tuple[str, ...] = ()
    resolved_at: int | None = None
    resolved_by: str = ""
    reason: str = ""
    severity: float = 0.5
    evidence: tuple[Evidence, ...] = ()
    before: tuple[Before, ...] = ()
    version: int = 1
    opened: bool = False
    """It was left to somebody to decide: when that is taken back, it is open again."""
