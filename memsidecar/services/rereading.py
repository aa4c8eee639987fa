"""An episode whose text is changed is read as a remembered one is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from memsidecar.domain.conflict import Policy, Source
from memsidecar.domain.conflicts.rules import ConflictRules
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Declined, Draft, Outcome, Patch
from memsidecar.domain.job import ItemDue
from memsidecar.domain.learned import name_described
from memsidecar.domain.memory import Body, Episode, Memory, Provenance
from memsidecar.domain.rereading import Reread, is_unread, read_again
from memsidecar.domain.scope import Partition
from memsidecar.domain.traits import ASSISTANTS
from memsidecar.services.earlier_deeds import EarlierDeeds
from memsidecar.services.learning import Learning
from memsidecar.services.preparing import Prepared, Preparing
from memsidecar.services.preparing_claims import with_claims
from memsidecar.services.remember import parts_of
from memsidecar.services.residency import Residency
from memsidecar.services.writing import PAUSE, Pause

Unfinished = Callable[[Partition, str], Awaitable[bool]]


@dataclass(frozen=True, slots=True, eq=False)
class TextRead:
    """The new text of an episode with what is found in it and what is read out of it."""

    draft: Draft
    prepared: Prepared
    reread: Reread
    terms: Mapping[str, Counter[str]] = field(default_factory=dict)

    def name(self, decision: Decision) -> None:
        """To be called before the text is stored, see `name_described`."""
        name_described(decision, self.draft)

    def learned(
        self, decision: Decision, before: Memory, after: Memory, job: str, rules: ConflictRules
    ) -> Iterator[Outcome | Declined | Pause]:
        """What becomes of what was read before, and of what is read now, once the text is stored."""
        if is_unread(decision, after.id, self.reread.before):
            return
        for each in read_again(decision, before, after, self.reread, rules):
            yield each
            yield PAUSE
        yield from self.draft.declined
        if self.draft.asks:
            due = ItemDue(job, after.id, parts_of(self.draft), agent=after.scope.agent, session=after.scope.session)
            decision.jobs.append(due)


class Rereading:
    """`unfinished` says whether a job of a partition has something due, and has it begun."""

    def __init__(
        self, residency: Residency, preparing: Preparing, learning: Learning, unfinished: Unfinished | None
    ) -> None:
        self._preparing, self._learning, self._unfinished = preparing, learning, unfinished
        self._deeds = EarlierDeeds(residency, learning)

    async def __call__(self, known: Memory, body: Body, patch: Patch, policy: Policy | None) -> TextRead | None:
        """What `body` says, which a patch of the memory `known` makes its body. None when that is what is read out of
        it already: no episode, or the same words of the same speaker. Raises as `Preparing`, and what loading the
        partition raises."""
        if not isinstance(known.body, Episode) or not isinstance(body, Episode):
            return None
        if (known.body.text, known.body.speaker) == (body.text, body.speaker):
            return None
        old = _draft(known, known.body, policy)
        new = replace(_draft(known, body, policy), embedding=patch.vectors)
        given = {name: patch.changes[name] for name in ("expires_at", "labels") if name in patch.changes}
        drafts = [old, replace(new, **given)]  # type: ignore[arg-type]  # fields were checked by name
        before, after = await self._learning(drafts, known.scope)
        (after,) = await self._deeds(known.scope, [after])
        (prepared,), (claims,), terms = await with_claims(self._preparing, [after], embed=True)
        reread = Reread(before.claims, claims, self._learning.by_rules)
        return TextRead(after, prepared, reread, terms)

    async def begin(self, partition: Partition, job: str) -> None:
        """Have what is due of the job begun."""
        if self._unfinished is not None:
            await self._unfinished(partition, job)


def _draft(memory: Memory, body: Episode, policy: Policy | None) -> Draft:
    source = memory.provenance[0] if memory.provenance else None
    if source is not None and source.speaker and isinstance(memory.body, Episode) and body.speaker:
        source = replace(source, speaker=body.speaker)
    return Draft(
        body,
        agent=memory.scope.agent,
        session=memory.scope.session,
        source=source,
        expires_at=memory.expires_at,
        labels=memory.labels,
        policy=policy,
        said_by=_said_by(source),
    )


def _said_by(source: Provenance | None) -> Source:
    if source is None or not source.document:
        assistant = source is not None and source.speaker.casefold() in ASSISTANTS
        return Source.ASSISTANT if assistant else Source.USER
    return Source.DOCUMENT
