"""The session that is going on, as a source of a recall: what it says, and what a question leans on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memsidecar.domain.conversation import bearing
from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.recall import MessageHit, Question, Tier, TierOutcome, TierReport
from memsidecar.domain.rewriting import rewrite
from memsidecar.domain.session import Message
from memsidecar.ports.runtime import Clock
from memsidecar.ports.sessions import SessionKey, SessionStore

# Newest messages that are looked through.
LOOK_BACK = 100
# Seconds that a recall waits for the session store: it answers in one or two milliseconds, or not at all.
BUDGET = 0.25


@dataclass(frozen=True, slots=True)
class Heard:
    """The question's text as it is searched for (`changed`: not as it was asked), the messages that bear on it, and how
    the source did."""

    text: str
    changed: bool
    messages: tuple[MessageHit, ...]
    report: TierReport


class Conversation:
    def __init__(self, store: SessionStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def hear(self, question: Question, wanted: bool, patience: float | None) -> Heard:
        """What the session adds to a question that names one; `wanted`: its messages are asked for, too. `patience` is
        in seconds, None for as long as it takes.

        A store that is away or slow is reported. Raises NotFound for a session that does not exist.
        """
        key = SessionKey(question.scope.partition, question.conversation)
        started = self._clock.monotonic()
        outcome, why = TierOutcome.OK, ""
        said: Sequence[Message] = ()
        try:
            async with asyncio.timeout(BUDGET if patience is None else min(BUDGET, patience)):
                said = await self._store.newest(key, LOOK_BACK)
        except TimeoutError:
            outcome, why = TierOutcome.TIMED_OUT, "the session store took too long"
        except StoreUnavailable as error:
            outcome, why = TierOutcome.UNAVAILABLE, str(error)
        found = bearing(question.text, said) if wanted else ()
        elapsed = self._clock.monotonic() - started
        text = rewrite(question.text, said)
        if outcome is TierOutcome.OK and not wanted:
            return Heard(
                text,
                text != question.text,
                (),
                TierReport(Tier.SESSION, TierOutcome.SKIPPED, 0, elapsed, "not asked for"),
            )
        return Heard(text, text != question.text, found, TierReport(Tier.SESSION, outcome, len(found), elapsed, why))
