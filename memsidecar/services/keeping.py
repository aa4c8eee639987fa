"""A generation that has ended, handed to the session and to long-term memory."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from memsidecar.domain import limits
from memsidecar.domain.claims import Span
from memsidecar.domain.draft import Draft, Outcome, Request
from memsidecar.domain.errors import NotFound, SessionEnded, SidecarError
from memsidecar.domain.exchange import transcript
from memsidecar.domain.generation.values import Exchange, GenerationOutcome, Source
from memsidecar.domain.memory import Episode, Provenance
from memsidecar.domain.memory import Outcome as HowItEnded
from memsidecar.domain.scope import Scope, resource_name
from memsidecar.domain.session import Message, Role
from memsidecar.ports.runtime import Clock
from memsidecar.ports.sessions import SessionKey
from memsidecar.services.remember import Remember, Wait
from memsidecar.services.sessions import Sessions

_log = logging.getLogger(__name__)

_IDS = uuid.UUID("5d0b6f5e-2f5c-4c57-9d57-3f2f8a0f3c11")
_ENDED = {GenerationOutcome.STOPPED: HowItEnded.PARTIAL, GenerationOutcome.FAILED: HowItEnded.FAILURE}

# Messages of a session that a generation need not be told again.
HEARD = 100


@dataclass(frozen=True, slots=True)
class Kept:
    """Ids of the memories, and the revision that shows them."""

    memories: tuple[str, ...]
    revision: int
    left_out: SidecarError | None = None
    """Why the session has not got it: it had ended, or was gone."""


class KeepExchange:
    def __init__(self, sessions: Sessions, remember: Remember, clock: Clock) -> None:
        self._sessions, self._remember, self._clock = sessions, remember, clock

    async def require_open(self, key: SessionKey) -> None:
        """Raises NotFound, SessionEnded, StoreUnavailable."""
        if (await self._sessions.get(key)).ended_at is not None:
            raise SessionEnded(resource_name(key.partition, "sessions", key.session_id))

    async def said(self, key: SessionKey) -> Sequence[Message]:
        """The newest messages, and those that always stay. Raises NotFound, StoreUnavailable."""
        _, messages = await self._sessions.conversation(key, HEARD)
        return messages

    def listen(self, key: SessionKey, listener: Callable[[Sequence[Message]], None]) -> Callable[[], None]:
        """Call `listener` with the messages that are appended through this process, until what is returned is
        called."""
        return self._sessions.listen(key, listener)

    async def __call__(
        self, scope: Scope, session: str, name: str, exchange: Exchange, outcome: GenerationOutcome, began: int
    ) -> Kept | None:
        """Append the prompt, the answer and what the user typed meanwhile to the session (an id; "" for none), then
        remember all of it; None when nothing of it says anything. A session that has ended or is gone meanwhile gets
        nothing, and it is remembered all the same.

        `name` is that of the generation: the same exchange under the same name is kept once, whatever of it an earlier
        try has got done. Raises what `Sessions.append` and `Remember` raise otherwise; when the store of sessions
        fails, nothing is stored, and another try can do all of it.
        """
        said = list(_turns(exchange))
        if not said:
            return None
        content = await asyncio.to_thread(_digest, said)
        identity = [scope.partition.name, session, name, content.hex()]

        def request(step: str) -> Request:
            return Request(str(uuid.uuid5(_IDS, json.dumps([step, *identity]))), content, scope.agent)

        kept: tuple[str, ...] = ()
        left_out: SidecarError | None = None
        if session:
            key = SessionKey(scope.partition, session)
            messages = [Message(role, piece) for role, text in said for piece in _pieces(text)]
            try:
                appended = await self._sessions.append(key, messages, None, request("session"))
                # The end of the session knows by them what is in memory already.
                kept = tuple(map(str, appended.seqs))
            except (NotFound, SessionEnded) as error:
                _log.warning("an exchange is remembered without its session", extra={"problem": str(error)})
                left_out = error
        drafts = self._drafts(scope, session or scope.session, said, outcome, began, kept)
        remembered = await self._remember(scope, drafts, Wait.SEARCHABLE, request("memory"))
        memories = []
        for result in remembered.outcomes:
            if isinstance(result, SidecarError):
                raise result
            memories.append(_id(result))
        return Kept(tuple(memories), remembered.revision, left_out)

    def _drafts(
        self,
        scope: Scope,
        session: str,
        said: list[tuple[Role, str]],
        outcome: GenerationOutcome,
        began: int,
        messages: tuple[str, ...],
    ) -> list[Draft]:
        if len(said) == 1:
            text, speaker = said[0][1], said[0][0].name.lower()
        else:
            text, speaker = transcript(said), ""
        ended = max(began, self._clock.now())
        own = _own_parts(said)
        pieces = list(_pieces(text))
        return [
            Draft(
                Episode(
                    piece,
                    speaker=speaker,
                    start_time=began,
                    end_time=ended,
                    outcome=_ENDED.get(outcome, HowItEnded.UNKNOWN),
                ),
                path="finish",
                agent=scope.agent,
                session=session,
                source=Provenance(session=session, messages=messages, agent=scope.agent, time=began),
                # The model's words may look like the user's. Of an exchange longer than a memory nothing is read.
                heard=own if len(pieces) == 1 else (),
            )
            for piece in pieces
        ]


def _own_parts(said: list[tuple[Role, str]]) -> tuple[Span, ...] | None:
    """Where the user's words stand in the text of an exchange (`transcript`); None when it holds one turn only."""
    if len(said) == 1:
        return None
    own: list[Span] = []
    end = -1  # each but the first follows a line's end
    for role, spoken in said:
        end += 1 + len(transcript([(role, spoken)]))
        if role is Role.USER:
            own.append(Span(end - len(spoken), end))
    return tuple(own)


def _turns(exchange: Exchange) -> Iterator[tuple[Role, str]]:
    """Who said what, one after the other: what says nothing parts nobody's words."""
    if exchange.prompt.strip():
        yield Role.USER, exchange.prompt
    last: tuple[Role, str] | None = None
    for source, text in exchange.said:
        role = Role.USER if source is Source.USER else Role.ASSISTANT
        if not text.strip():
            continue
        if last is not None and last[0] is not role:
            yield last
            last = None
        last = (role, text if last is None else last[1] + text)
    if last is not None:
        yield last


def _id(outcome: Outcome) -> str:
    return outcome.memory.id


def _digest(said: list[tuple[Role, str]]) -> bytes:
    return sha256(json.dumps([(int(role), text) for role, text in said]).encode()).digest()


def _pieces(text: str) -> Iterator[str]:
    """A text in parts that a memory or a message can hold, without those that say nothing."""
    data = text.encode()
    start = 0
    while start < len(data):
        end = min(start + limits.MAX_TEXT_BYTES, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1  # not inside a character
        piece = data[start:end].decode()
        if piece.strip():
            yield piece
        start = end
