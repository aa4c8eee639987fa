"""The Extractor over an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from memsidecar.adapters.openai_models.breaker import CircuitBreaker
from memsidecar.adapters.openai_models.chat import PERMANENT, Chat, Message, RefusedError, Reply
from memsidecar.adapters.openai_models.claim_checks import Judged, Piece, judged
from memsidecar.adapters.openai_models.collected import Collected
from memsidecar.adapters.openai_models.dialect import Blame
from memsidecar.adapters.openai_models.extraction_prompt import (
    REPAIRABLE,
    SCHEMA,
    correction,
    instructions,
    shown,
)
from memsidecar.adapters.openai_models.extraction_reply import written
from memsidecar.adapters.openai_models.settings import ExtractorSettings
from memsidecar.adapters.openai_models.usage import Usage
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.text import cut_place
from memsidecar.ports.extraction import Declined, Extracted, Turn

# A turn that the server calls too long is read in smaller pieces, but not in smaller ones than this.
_LEAST_CHARS = 400


class OpenAIExtractor:
    """Shows a model turns in batches, and keeps of its answer what the turns bear out.

    An answer with faults is sent back once to be corrected. A batch that is refused, or that the model cannot answer,
    is halved until the turn to blame is alone: it gets the reason, the others their claims. All or nothing towards the
    caller: an outage in the middle fails the whole call, so that each turn is either read or still to be read.
    """

    def __init__(
        self,
        settings: ExtractorSettings,
        *,
        breaker: CircuitBreaker | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        mark: Callable[[], str] = lambda: secrets.token_hex(12),
    ) -> None:
        self._settings, self._mark = settings, mark
        self._usage = Usage()
        breaker = breaker or CircuitBreaker(settings.breaker_failures, settings.breaker_cooldown)
        self._chat = Chat(settings, SCHEMA, self._usage, breaker, sleep, jitter)
        self._instructions = instructions(settings.attributes)
        self._closed = False

    @property
    def model(self) -> str:
        return self._chat.model

    @property
    def left_alone(self) -> bool:
        """Whether the server keeps failing and is asked nothing for a while."""
        return self._chat.left_alone

    @property
    def usage(self) -> Usage:
        """What it has cost so far: a copy."""
        return replace(self._usage)

    async def extract(self, turns: Sequence[Turn]) -> Sequence[Extracted]:
        """See the port and the class."""
        if self._closed:
            raise ModelUnavailable(self.model, "is closed")
        collected = [Collected() for _ in turns]
        reading = _Reading(self._chat, self._instructions, self._mark, self._usage, collected)
        for batch in self._batches(turns, collected):
            await reading.read(batch)
        extracted = [each.extracted() for each in collected]
        self._usage.turns += len(turns)
        self._usage.claims += sum(len(each.claims) for each in extracted)
        self._usage.rejected += sum(len(each.rejected) for each in extracted)
        return extracted

    async def close(self) -> None:
        self._closed = True
        await self._chat.close()

    def _batches(self, turns: Sequence[Turn], collected: Sequence[Collected]) -> Iterator[list[Piece]]:
        """Within the limits for turns and for characters."""
        batch: list[Piece] = []
        chars = 0
        for place, turn in enumerate(turns):
            if len(turn.text) > self._settings.max_turn_chars:
                collected[place].decline(Declined.TOO_LONG)
            for piece in _pieces(place, turn, self._settings):
                full = len(batch) == self._settings.max_turns
                if batch and (full or chars + len(piece.text) > self._settings.max_batch_chars):
                    yield batch
                    batch, chars = [], 0
                batch.append(piece)
                chars += len(piece.text)
        if batch:
            yield batch


class _Reading:
    """One call's batches, whose results go to where their turns are."""

    def __init__(
        self,
        chat: Chat,
        told: str,
        mark: Callable[[], str],
        usage: Usage,
        collected: Sequence[Collected],
    ) -> None:
        self._chat, self._told, self._mark, self._usage, self._collected = chat, told, mark, usage, collected
        self._works = False

    async def read(self, batch: Sequence[Piece], *, corrects: bool = True) -> None:
        """Raises ModelUnavailable. Without `corrects`, an answer is taken or left as it is."""
        messages = self._messages(batch)
        try:
            reply = await self._chat.ask(messages)
        except RefusedError as refused:
            if refused.blame is Blame.UNKNOWN:
                await self._probe(refused)
            await self._apart(batch, Declined.TOO_LONG if refused.blame is Blame.TOO_LONG else Declined.REFUSED)
            return
        self._works = True
        answer = await asyncio.to_thread(_judged, reply, batch)
        if reply.refused and not answer.claims:
            await self._apart(batch, Declined.REFUSED)
        elif not answer.readable and not corrects:
            await self._apart(batch, Declined.CUT_OFF if answer.cut else Declined.UNREADABLE)
        elif answer.cut and len(batch) > 1:
            await self._rest(batch, answer, corrects=corrects)
        elif corrects and (not answer.readable or answer.cut or answer.repairable):
            await self._correct(messages, batch, answer)
        else:
            self._keep(batch, answer.results)
            if answer.cut:
                self._collected[batch[0].turn].decline(Declined.CUT_OFF)

    def _messages(self, batch: Sequence[Piece]) -> list[Message]:
        texts = [(piece.speaker, piece.text) for piece in batch]
        return [
            {"role": "system", "content": self._told},
            {"role": "user", "content": shown(texts, self._mark())},
        ]

    async def _correct(self, messages: list[Message], batch: Sequence[Piece], first: _Answer) -> None:
        """Has the model look at its faults, once."""
        bad = first.repairable
        said, asked = correction(
            [(each.written, each.reason) for each in bad if each.reason],
            [each.written for each in first.claims],
            cut=first.cut and first.readable,
        )
        self._usage.repairs += 1
        follow_up: list[Message] = [{"role": "assistant", "content": said}, {"role": "user", "content": asked}]
        try:
            reply = await self._chat.ask([*messages, *follow_up])
        except RefusedError:
            reply = Reply()
        second = await asyncio.to_thread(_judged, reply, batch)
        incomplete = first.cut or not first.readable
        if not first.readable and not second.readable:
            await self._apart(batch, Declined.CUT_OFF if first.cut else Declined.UNREADABLE)
        elif not first.readable and second.cut and len(batch) > 1:
            await self._rest(batch, second, corrects=False)
        else:
            self._keep(batch, [each for each in first.results if each not in bad])
            self._replace(batch, bad, second.claims)
            if incomplete:
                self._keep(batch, [each for each in second.results if each.reason])
            if incomplete and (second.cut or not second.readable):
                self._collected[batch[0].turn].decline(Declined.CUT_OFF)

    def _replace(self, batch: Sequence[Piece], bad: Sequence[Judged], claims: Sequence[Judged]) -> None:
        """A bad one for which a new one came is no longer bad; which of a turn's it was does not matter."""
        new = [0] * len(batch)
        for each in claims:
            new[each.place] += bool(each.claim and self._collected[batch[each.place].turn].add(each.claim))
        for each in bad:
            if new[each.place]:
                new[each.place] -= 1
            else:
                self._keep(batch, [each])

    async def _rest(self, batch: Sequence[Piece], answer: _Answer, *, corrects: bool) -> None:
        """The answer ran into its limit: what follows the last turn that it speaks of is read again, and that turn."""
        last = max((each.place for each in answer.claims), default=0)
        self._keep(batch, [each for each in answer.results if each.claim or each.place < last])
        if last:
            await self.read(batch[last:], corrects=corrects)
        else:
            await self._halves(batch, corrects=corrects)

    async def _apart(self, batch: Sequence[Piece], reason: Declined) -> None:
        """Finds the turn to blame."""
        (first, *others) = batch
        if others:
            await self._halves(batch, corrects=reason in (Declined.REFUSED, Declined.TOO_LONG))
        elif reason is Declined.TOO_LONG and len(first.text) > _LEAST_CHARS:
            await self._halves(list(_cut(first, len(first.text) // 2 + 1)), corrects=True)
        else:
            self._collected[first.turn].decline(reason)

    async def _halves(self, batch: Sequence[Piece], *, corrects: bool) -> None:
        middle = len(batch) // 2
        await self.read(batch[:middle], corrects=corrects)
        await self.read(batch[middle:], corrects=corrects)

    async def _probe(self, refused: RefusedError) -> None:
        """Whether the server takes any request at all. If not, no turn is to blame."""
        if self._works:
            return
        try:
            await self._chat.ask(self._messages([Piece(0, "", "Hello.")]))
        except RefusedError:
            problem = "refuses every request (HTTP 400); check extraction.model and extraction.base_url"
            raise ModelUnavailable(self._chat.model, problem, PERMANENT) from refused
        self._works = True

    def _keep(self, batch: Sequence[Piece], results: Sequence[Judged]) -> None:
        for each in results:
            collected = self._collected[batch[each.place].turn]
            if each.claim:
                collected.add(each.claim)
            elif each.reason:
                collected.decline(each.reason)


@dataclass(frozen=True, slots=True)
class _Answer:
    """A reply, taken apart."""

    results: Sequence[Judged]
    readable: bool
    cut: bool

    @property
    def claims(self) -> list[Judged]:
        return [each for each in self.results if each.claim]

    @property
    def repairable(self) -> list[Judged]:
        return [each for each in self.results if each.reason in REPAIRABLE]


def _judged(reply: Reply, batch: Sequence[Piece]) -> _Answer:
    answer = written(reply.content)
    # A list with its end is whole, and one without is not, whatever the server says.
    cut = reply.cut if answer.claims is None else not answer.whole
    return _Answer(judged(answer.claims or (), batch), answer.claims is not None, cut)


def _pieces(place: int, turn: Turn, settings: ExtractorSettings) -> Iterator[Piece]:
    text = turn.text[: settings.max_turn_chars]
    if text.strip():
        yield from _cut(Piece(place, turn.speaker, text), settings.max_batch_chars)


def _cut(piece: Piece, size: int) -> Iterator[Piece]:
    """Parts of at most `size` code points, cut where a sentence ends if one does."""
    text, start = piece.text, 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            end = cut_place(text, start + size // 2, end)
        yield Piece(piece.turn, piece.speaker, text[start:end], piece.offset + start)
        start = end
