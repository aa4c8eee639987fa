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
    policy: Policy, memory: Memory, manner: Manner, said_by: Source, contested: Sequence[Peer], cut: Sequence[Peer]
) -> Verdict:
    """`contested` are the memories that a new one contradicts, not none; `cut` are those of them that it would end."""
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
            lost = any(memory.confidence < peer.memory.confidence for peer in cut)
            return Verdict.LOSE if lost else Verdict.CHAIN
        case Policy.SOURCE_PRIORITY:
            lost = any(said_by < source_of(peer.memory) for peer in cut)
            return Verdict.LOSE if lost else Verdict.CHAIN
        case Policy.AUTO:
            if manner is Manner.ADDED and cut:
                return Verdict.KEEP_BOTH
            plain = all(peer.rule is not Rule.EXPERIENCE for peer in contested) and _plain(memory, manner, said_by, cut)
            return Verdict.CHAIN if plain else Verdict.FLAG


def _plain(memory: Memory, manner: Manner, said_by: Source, cut: Sequence[Peer]) -> bool:
    """Whether it is plain, without asking anybody, that a memory takes the place of others. What is older in valid time
    takes nothing's place: it is history."""
    if not cut:
        return True
    if said_by is not Source.USER or any(memory.confidence < peer.memory.confidence for peer in cut):
        return False
    return manner is not Manner.STATED or all(peer.memory.state is not State.DISPUTED for peer in cut)


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
