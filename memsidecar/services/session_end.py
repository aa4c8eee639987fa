"""The end of a session: what was said in it goes to long-term memory, each message once."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from memsidecar.domain.draft import Draft, Outcome, Request
from memsidecar.domain.errors import SidecarError
from memsidecar.domain.memory import Episode, Provenance, State
from memsidecar.domain.scope import Scope
from memsidecar.domain.session import Message, Role, Session
from memsidecar.ports.sessions import SessionKey
from memsidecar.services.remember import Remember, Stages, Wait, job_of
from memsidecar.services.residency import Residency
from memsidecar.services.sessions import Sessions
from memsidecar.services.turn import Turn

_IDS = uuid.UUID("8f3d1b52-5a3f-4d0e-9b59-6f8f1a7c3e21")
# Messages that are remembered in one transaction.
CHUNK = 128
# Beyond so many, texts are embedded after the answer: of more, the embedder takes longer than clients wait.
EMBEDDED_AT_ONCE = 256
MAX_OUTCOMES = 256
_SPEAKERS = {Role.USER: "user", Role.ASSISTANT: "assistant", Role.TOOL: "tool", Role.SYSTEM: "system"}


@dataclass(frozen=True, slots=True)
class Ended:
    """The session as it ended. `outcomes` are at most MAX_OUTCOMES, those of what was read out of messages before those
    of messages; an error is that of its message alone. `revision` is None when nothing was remembered."""

    session: Session
    outcomes: tuple[Outcome | SidecarError, ...] = ()
    stages: Stages = field(default_factory=Stages)
    revision: int | None = None


class EndSession:
    """Without `residency`, what was kept as a part of an exchange is kept by itself, too."""

    def __init__(self, sessions: Sessions, remember: Remember, residency: Residency | None = None) -> None:
        self._sessions, self._remember, self._residency = sessions, remember, residency

    async def __call__(self, key: SessionKey, remember: bool, request: Request) -> Ended:
        """Close a session; with `remember`, hand over its messages, those of the user to be read.

        A message is known by the session's beginning and its seq: called again, also after a crash in between, it goes
        on where it stopped. Raises NotFound and what `Remember` raises; then call again.
        """
        session = await self._sessions.end(key, request)
        if not remember:
            return Ended(session)
        scope = replace(session.scope, namespace=key.partition.namespace, user=key.partition.user)
        origin = str(uuid.uuid5(_IDS, f"{key.partition.name} {key.session_id} {session.created_at}"))
        job = job_of(key.partition, Request(origin))
        wait = Wait.SEARCHABLE if session.message_count <= EMBEDDED_AT_ONCE else Wait.DURABLE
        known = await self._known(key)
        outcomes: list[Outcome | SidecarError] = []
        stages, revision, after = Stages(), None, 0
        while messages := await self._sessions.messages(key, after, CHUNK):
            after = messages[-1].seq
            # Chunks have fixed borders, so that a message is always in the same one.
            border = (messages[0].seq - 1) // CHUNK * CHUNK + CHUNK
            messages = [message for message in messages if message.seq <= border]
            after = messages[-1].seq
            told = (message for message in messages if not _is_part(message, known))
            drafts = [draft for message in told if (draft := _draft(scope, message)) is not None]
            if not drafts:
                continue
            once = Request(str(uuid.uuid5(_IDS, f"{origin} {border}")), _digest(drafts), request.actor)
            done = await self._remember(scope, drafts, wait, once, job=job)
            outcomes += done.outcomes
            revision = done.revision
            stages = Stages(
                stages.extracted and done.stages.extracted,
                stages.searchable and done.stages.searchable,
                stages.job or done.stages.job,
            )
        telling = sorted(outcomes, key=lambda o: not (isinstance(o, Outcome) and o.extracted))
        return Ended(session, tuple(telling[:MAX_OUTCOMES]), stages, revision)

    async def _known(self, key: SessionKey) -> dict[str, list[str]]:
        """The texts of the session's episodes, by the messages that they were made of."""
        found: dict[str, list[str]] = {}
        if self._residency is None:
            return found
        resident = await self._residency.view(key.partition)
        turn = Turn()
        episode = resident.last_episode(key.session_id)
        seen: set[str] = set()
        while episode and episode not in seen:
            seen.add(episode)
            await turn.give()
            memory = resident.memory(episode)
            if memory is None or not isinstance(memory.body, Episode):
                break
            for source in memory.provenance:
                if source.session == key.session_id and memory.state is not State.DELETED:
                    for message in source.messages:
                        found.setdefault(message, []).append(memory.body.text)
            episode = memory.body.follows
        return found


def _is_part(message: Message, known: Mapping[str, Sequence[str]]) -> bool:
    """Whether a message is in memory as a part of something longer: of an exchange that was kept. One that is there by
    itself is known again when it is remembered, and answered as it was the first time."""
    return any(message.text in text and message.text != text for text in known.get(str(message.seq), ()))


def _draft(scope: Scope, message: Message) -> Draft | None:
    """A message as an episode; None for one that says nothing."""
    if not message.text.strip():
        return None
    role = _SPEAKERS[message.role]
    speaker = message.name if message.role is Role.USER and message.name else role
    said = message.created_at or None
    return Draft(
        Episode(message.text, speaker=speaker, start_time=said),
        path=f"messages[{message.seq}]",
        agent=scope.agent,
        session=scope.session,
        source=Provenance(
            session=scope.session,
            messages=(str(message.seq),),
            agent=scope.agent,
            speaker=speaker,
            time=said,
        ),
        # Whatever a tool is called, it is not heard.
        heard=None if message.role is Role.USER else (),
    )


def _digest(drafts: Sequence[Draft]) -> bytes:
    content = sha256()
    for draft in drafts:
        content.update(repr((draft.path, draft.body)).encode())
    return content.digest()
