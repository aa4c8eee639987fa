"""What a model says that episodes state, remembered: each episode once, however often it is asked."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memsidecar.domain.claims import Claim, Span
from memsidecar.domain.conflicts.rule_choice import DEFAULT_RULE_CHOICE, RuleChoice
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Declined, Draft, Outcome, Request
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.job import DueItem, ItemSettled, ItemState, Told
from memsidecar.domain.learned import ClaimFound
from memsidecar.domain.memory import Episode, Memory, State
from memsidecar.domain.rereading import read_by_model
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.speakers import own_parts
from memsidecar.ports.extraction import Declined as Reason
from memsidecar.ports.extraction import Extracted, Extractor, Turn
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.learning import Learning
from memsidecar.services.preparing import Preparing
from memsidecar.services.residency import Residency
from memsidecar.services.writing import PAUSE, Pause

_log = logging.getLogger(__name__)

ACTOR = "memsidecar"
GONE = "its text has been deleted or changed since"
# Tries of one item, each on its own after the first, before it is given up: a text that the model cannot answer in
# three tries costs as much each time.
MAX_ATTEMPTS = 3
# Reasons that another try may do away with; others are the model's last word.
_AGAIN = frozenset({Reason.UNREADABLE, Reason.CUT_OFF})
_FAILURES = _AGAIN | {Reason.REFUSED}


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """An item with the text that is asked about, as a draft; None when there is none any more."""

    item: DueItem
    memory: Memory | None
    draft: Draft | None


class Extract:
    def __init__(
        self,
        residency: Residency,
        preparing: Preparing,
        backlog: EmbeddingBacklog,
        learning: Learning,
        extractor: Extractor,
        rules: RuleChoice = DEFAULT_RULE_CHOICE,
    ) -> None:
        self._residency, self._preparing, self._backlog = residency, preparing, backlog
        self._learning, self._extractor, self._rules = learning, extractor, rules

    async def __call__(self, partition: Partition, items: Sequence[DueItem]) -> None:
        """Ask about items of one partition, in their order, and settle each of them with what came of it, in one
        transaction.

        Raises ModelUnavailable: then nothing was settled. Raises what loading and writing raise.
        """
        resident = await self._residency.view(partition)
        asked = [_asked(item, resident.memory(item.memory_id)) for item in items]
        live = [each for each in asked if each.draft is not None]
        answers = await self._extractor.extract([_turn(each) for each in live]) if live else ()
        if len(answers) != len(live):
            raise ModelUnavailable(self._extractor.model, "has not answered each turn")
        found = {
            each.item.position: (answer, await self._claims(partition, each, answer.claims))
            for each, answer in zip(live, answers, strict=True)
        }

        rules = self._rules.of(partition.namespace)

        def command(decision: Decision) -> Iterator[Pause | None]:
            for each in asked:
                if each.item.position not in found:
                    decision.jobs.append(ItemSettled(each.item.position, ItemState.DONE, GONE))
                    continue
                answer, (claims, declined) = found[each.item.position]
                memory = decision.view.memory(each.item.memory_id)
                if memory is None or memory.state is State.DELETED or memory.body != _body(each):
                    # Deleted or purged while the model read it: no ghost comes of it.
                    decision.jobs.append(ItemSettled(each.item.position, ItemState.DONE, GONE))
                    continue
                told: list[Outcome | Declined] = []
                # Without an answer nobody knows what the text says now.
                answered = answer.claims or not answer.rejected
                for outcome in read_by_model(decision, memory, claims, rules) if answered else ():
                    told.append(outcome)
                    yield PAUSE
                decision.jobs.append(_settled(each.item, answer, (*told, *declined)))

        await self._residency.write(partition, command, Request(actor=ACTOR))
        loaded = self._residency.peek(partition)
        if loaded is not None and loaded.resident.due:
            self._backlog.notice(partition)

    async def _claims(
        self, partition: Partition, asked: _Asked, claims: Sequence[Claim]
    ) -> tuple[list[ClaimFound], tuple[Declined, ...]]:
        assert asked.draft is not None
        scope = Scope(partition.namespace, partition.user, asked.draft.agent, asked.draft.session)
        draft = self._learning.from_model(asked.draft, claims, scope, self._extractor.model)
        prepared = await self._preparing(draft.claims, embed=True)
        found = zip(draft.claims, prepared, strict=True)
        return [ClaimFound(claim, each.mentions, each.vectors) for claim, each in found], draft.declined


def _asked(item: DueItem, memory: Memory | None) -> _Asked:
    if memory is None or memory.state is State.DELETED or not isinstance(memory.body, Episode):
        return _Asked(item, None, None)
    body = memory.body
    if item.parts:
        if memory.version > 1 and not _are_in(item.parts, own_parts(body.text)):
            return _Asked(item, None, None)  # they are parts of a text that was changed; that is an item of its own
        body = replace(body, text="\n".join(body.text[part.start : part.end] for part in item.parts))
    if not body.text.strip():
        return _Asked(item, None, None)
    source = memory.provenance[0] if memory.provenance else None
    draft = Draft(
        body,
        agent=memory.scope.agent,
        session=memory.scope.session,
        source=source,
        expires_at=memory.expires_at,
        labels=memory.labels,
    )
    return _Asked(item, memory, draft)


def _are_in(parts: Sequence[Span], others: Sequence[Span]) -> bool:
    return all(any(o.start <= part.start and part.end <= o.end for o in others) for part in parts)


def _turn(asked: _Asked) -> Turn:
    assert asked.draft is not None
    assert isinstance(asked.draft.body, Episode)
    body = asked.draft.body
    return Turn(body.text, speaker=body.speaker, time=body.start_time, id=asked.item.memory_id)


def _body(asked: _Asked) -> object:
    return asked.memory.body if asked.memory is not None else None


def _settled(item: DueItem, answer: Extracted, told: Sequence[Outcome | Declined]) -> ItemSettled:
    reasons = [reason for reason in answer.rejected if reason in _FAILURES]
    if reasons and not answer.claims:
        again = all(reason in _AGAIN for reason in reasons) and item.attempts + 1 < MAX_ATTEMPTS
        return ItemSettled(item.position, ItemState.DUE if again else ItemState.FAILED, reasons[0])
    rejected = [Told(explanation=str(reason)) for reason in answer.rejected]
    return ItemSettled(item.position, ItemState.DONE, "", (*map(_told, told), *rejected))


def _told(result: Outcome | Declined) -> Told:
    if isinstance(result, Declined):
        return Told(explanation=result.explanation)
    return Told(result.memory.id, int(result.action), result.explanation)
