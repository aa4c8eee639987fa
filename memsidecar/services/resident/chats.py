"""What kind of talk each session is, kept as its turns come in.

A user's memory holds chats between people, chats with assistants and bare notes side by side, and no one way of ranking
fits all three. A session with a turn of an assistant is ASSISTED; else, with two speakers or more, a DIALOGUE; anything
else are NOTES, and so is what has no session.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.memory import Kind
from memsidecar.domain.traits import Trait
from memsidecar.services.resident.columns import Columns

# As a plain number: numpy asks an enumeration's class for ten attributes, each time.
_ASSISTANT = int(Trait.ASSISTANT)


class Chat(IntEnum):
    NOTES = 0
    DIALOGUE = 1
    ASSISTED = 2


class Chats:
    """The kind of each session, by the session's number in the columns."""

    def __init__(self) -> None:
        self._kinds = bytearray()
        # The number of the speaker that a session of one speaker has.
        self._alone: dict[int, int] = {}
        self._stale = False

    def note(self, session: int, speaker: int, traits: int) -> None:
        """A new turn; `session` and `speaker` are numbers, 0 for none."""
        if not session or self._stale:
            return
        if session >= len(self._kinds):
            self._kinds.extend(bytes(session + 1 - len(self._kinds)))
        if traits & _ASSISTANT:
            self._kinds[session] = Chat.ASSISTED
        elif speaker and self._kinds[session] == Chat.NOTES and self._alone.setdefault(session, speaker) != speaker:
            self._kinds[session] = Chat.DIALOGUE

    def forget(self) -> None:
        """A turn has gone or changed: the kinds are worked out anew when they are next asked for."""
        self._stale = True

    def kinds(self, columns: Columns) -> NDArray[np.uint8]:
        """By session number; sessions beyond the end are NOTES, as is session 0."""
        if self._stale:
            self._work_out(columns)
        return np.frombuffer(bytes(self._kinds), dtype=np.uint8)

    def _work_out(self, columns: Columns) -> None:
        session, speaker, traits = (_column(columns, name) for name in ("session", "speaker", "traits"))
        turns = (session > 0) & (_column(columns, "kind") == int(Kind.EPISODE)) & _column(columns, "live")
        session, speaker, traits = session[turns], speaker[turns], traits[turns]
        size = int(session.max(initial=0)) + 1
        named = (speaker > 0) & ((traits & _ASSISTANT) == 0)
        lowest = np.full(size, np.iinfo(np.int32).max)
        highest = np.zeros(size, dtype=np.int64)
        np.minimum.at(lowest, session[named], speaker[named])
        np.maximum.at(highest, session[named], speaker[named])
        kinds = np.where(lowest < highest, np.uint8(Chat.DIALOGUE), np.uint8(Chat.NOTES))
        kinds[session[(traits & _ASSISTANT) > 0]] = Chat.ASSISTED
        self._kinds = bytearray(kinds.astype(np.uint8).tobytes())
        self._alone = {int(s): int(highest[s]) for s in np.flatnonzero((lowest == highest) & (highest > 0))}
        self._stale = False


def _column(columns: Columns, name: str) -> Any:
    return columns[name]
