"""What a question asks, of which partitions: everything about a recall that is known before anything is looked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from memsidecar.domain.errors import InvalidField, RevisionUnknown
from memsidecar.domain.profile import Profile, with_weights
from memsidecar.domain.profile_choice import Choice
from memsidecar.domain.question import analyse
from memsidecar.domain.recall import Question, Tier
from memsidecar.domain.scope import Scope
from memsidecar.ports.runtime import Clock
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.conversation import Conversation
from memsidecar.services.long_texts import is_long
from memsidecar.services.named_times import NO_TIMES, NamedTimes, Times
from memsidecar.services.past import Past
from memsidecar.services.patience import seconds_for_sources
from memsidecar.services.plan import Plan
from memsidecar.services.preparing import Space
from memsidecar.services.residency import Loaded, Residency

_ALL = frozenset(Tier)


class Planning:
    def __init__(
        self,
        residency: Residency,
        past: Past,
        space: Space,
        backlog: EmbeddingBacklog,
        clock: Clock,
        profiles: Choice,
        spread: float,
        times: NamedTimes,
        conversation: Conversation,
    ) -> None:
        """`spread` is the standard deviation of the embedder's cosines within a memory (`Profile.spread`)."""
        self._residency, self._past, self._space, self._backlog = residency, past, space, backlog
        self._clock, self._profiles, self._spread = clock, profiles, spread
        self._times, self._conversation = times, conversation

    async def plan(self, question: Question) -> Plan:
        """Load what the question reads, and read the question. Raises as `Recall.once`, but for what no source says."""
        started, scope = self._clock.monotonic(), question.scope
        waits = [seconds for seconds in (question.soft_deadline, seconds_for_sources()) if seconds is not None]
        patience = min(waits, default=None)
        deadline = None if patience is None else started + patience
        profile = self._profile(question)
        if question.embedding is not None:
            question = replace(question, embedding=self._space.check(question.embedding))
        tiers = question.tiers or _ALL
        heard = None
        if question.conversation:
            heard = await self._conversation.hear(question, Tier.SESSION in tiers, patience)
            question = replace(question, text=heard.text)
        partitions = [scope.partition]
        if question.include_shared and scope.user:
            partitions.append(Scope(scope.namespace).partition)
        now = self._clock.now()
        loaded: list[Loaded] = []
        if question.known_at is None or question.known_at >= now:
            loaded = [await self._residency.get(partition) for partition in partitions]
            await at_rest(loaded)
            residents = [one.resident for one in loaded]
        else:
            residents = [await self._past.view(partition, question.known_at, now) for partition in partitions]
            now = question.known_at
        known_at = now
        if question.time is not None:
            now = question.time
        times = await self._named(question, now)
        if question.only_named_time and times.whole is not None:
            start, end = times.whole
            question = replace(question, filter=replace(question.filter, min_said=start, max_said=end))
        read = []
        for resident in residents:
            if resident.due:
                self._backlog.notice(resident.partition)
            known = resident.lookup.names(), resident.speakers(), times.bonus, question.asks
            if is_long(question.text):
                # Safe beside the loop: names are looked up one by one, and speakers are made anew when they change.
                read.append((resident, await asyncio.to_thread(analyse, question.text, *known)))
            else:
                read.append((resident, analyse(question.text, *known)))
        if question.min_revision is not None:
            # The past may be older than the write; the store may not.
            present = residents[0] if loaded else await self._residency.view(scope.partition)
            if present.head.revision < question.min_revision:
                raise RevisionUnknown(str(question.min_revision))
        return Plan(question, profile, read, loaded, now, known_at, deadline, tiers, times, heard)

    async def _named(self, question: Question, now: int) -> Times:
        if is_long(question.text):
            return await asyncio.to_thread(self._times.named, question.text, now, question.zone)
        return self._times.named(question.text, now, question.zone) if question.text else NO_TIMES

    def _profile(self, question: Question) -> Profile:
        choice = self._profiles
        profile = choice.of_namespace.get(question.scope.namespace, choice.usual)
        if question.profile:
            named = choice.profiles.get(question.profile)
            if named is None:
                raise InvalidField("options.profile", f"is none of {', '.join(sorted(choice.profiles))}")
            profile = named
        if question.weights:
            profile = with_weights(profile, question.weights, "options.weights")
        return profile if profile.spread == self._spread else replace(profile, spread=self._spread)


async def at_rest(partitions: Iterable[Loaded]) -> None:
    """Until each shows whole transactions only; holds until the caller next awaits."""
    found = list(partitions)
    while busy := [loaded for loaded in found if not loaded.writer.at_rest]:
        await busy[0].writer.rest()
