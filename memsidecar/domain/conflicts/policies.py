"""What a policy makes of a contradiction."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from memsidecar.domain.claims import Manner
from memsidecar.domain.conflict import Policy, Rule, Source
from memsidecar.domain.conflicts.peers import Peer
from memsidecar.domain.memory import Memory, Provenance, State
from memsidecar.domain.traits import ROLES


class Verdict(Enum):
    """What becomes of a memory that contradicts others."""

    CHAIN = auto()
    """Each holds until the next one begins."""
    LOSE = auto()
    """The new one never holds."""
    FLAG = auto()
    REJECT = auto()
    KEEP_BOTH = auto()


def judge(
    policy: Policy, memory: Memory, manner: Manner, said_by: Source, peers: Sequence[Peer], later: bool
) -> Verdict:
    """`peers` are the memories that a new one contradicts; `later` says that all of them began before it."""
    match policy:
        case Policy.REJECT:
            return Verdict.REJECT
        case Policy.KEEP_BOTH:
            return Verdict.KEEP_BOTH
        case Policy.FLAG | Policy.ASK:
            return Verdict.FLAG
        case Policy.SUPERSEDE:
            return Verdict.CHAIN
        case Policy.MOST_CONFIDENT:
            best = max(peer.memory.confidence for peer in peers)
            return Verdict.LOSE if memory.confidence < best and later else Verdict.CHAIN
        case Policy.SOURCE_PRIORITY:
            first = max(source_of(peer.memory) for peer in peers)
            return Verdict.LOSE if said_by < first and later else Verdict.CHAIN
        case Policy.AUTO:
            return Verdict.CHAIN if _plain(memory, manner, said_by, peers, later) else Verdict.FLAG


def _plain(memory: Memory, manner: Manner, said_by: Source, peers: Sequence[Peer], later: bool) -> bool:
    """Whether it is plain, without asking anybody, which of them holds."""
    if any(peer.rule is Rule.EXPERIENCE for peer in peers):
        return False
    if not later:
        # What is older in valid time takes nothing's place: it is history.
        return True
    if said_by is not Source.USER or any(memory.confidence < peer.memory.confidence for peer in peers):
        return False
    return manner is not Manner.STATED or all(peer.memory.state is not State.DISPUTED for peer in peers)


def source_of(memory: Memory) -> Source:
    """The best of a memory's sources; what comes without one was written on the user's behalf."""
    return max(map(_source, memory.provenance), default=Source.USER)


def _source(source: Provenance) -> Source:
    speaker = source.speaker.casefold()
    if speaker in ("assistant", "system", "tool"):
        return Source.ASSISTANT
    if source.document:
        return Source.DOCUMENT
    return Source.OTHER if speaker and speaker not in ROLES else Source.USER
