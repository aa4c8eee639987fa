"""What somebody has done, looked up where he says that he never did.

People tell all the time what they do; as facts of their own these would outnumber everything else. So what was done is
stored as a fact only together with its denial, and read for it out of the texts that are there already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from memsidecar.domain.claims import Claim
from memsidecar.domain.draft import Draft
from memsidecar.domain.extraction.experience import experience_claims
from memsidecar.domain.learned import denies
from memsidecar.domain.memory import Episode, Fact, Kind, Provenance, State
from memsidecar.domain.scope import Scope
from memsidecar.domain.tokens import tokens
from memsidecar.services.learning import READ_INLINE, Learning
from memsidecar.services.residency import Residency
from memsidecar.services.turn import Turn

# Texts that are read for one denial, those that share its rarest words first; and code points of each.
TEXTS = 12
_READ = 2_000


class EarlierDeeds:
    def __init__(self, residency: Residency, learning: Learning) -> None:
        self._residency, self._learning = residency, learning

    async def __call__(self, scope: Scope, drafts: Sequence[Draft]) -> list[Draft]:
        """The drafts with further claims after those that deny a deed: what earlier texts of the same person say he
        has done, each derived from its own text. Raises what loading the partition raises."""
        return [await self._with_deeds(scope, d) if any(map(denies, d.claims)) else d for d in drafts]

    async def _with_deeds(self, scope: Scope, draft: Draft) -> Draft:
        resident = await self._residency.view(scope.partition)
        rows: dict[int, None] = {}
        for claim in filter(denies, draft.claims):
            terms = tokens(claim.body.object_text) if isinstance(claim.body, Fact) else []
            kinds: Any = resident.columns["kind"]
            scores = resident.keywords.scores(terms, resident.rows) * (kinds[: resident.rows] == int(Kind.EPISODE))
            best = np.argsort(-scores, kind="stable")[:TEXTS]
            rows.update(dict.fromkeys(int(row) for row in best if scores[row] > 0))
        found: list[Draft] = []
        turn = Turn()
        for row in rows:
            await turn.give()
            memory = resident.records.get(row)
            body = memory.body
            if not isinstance(body, Episode) or memory.state is State.DELETED or memory.scope.agent != draft.agent:
                continue
            told = Draft(
                body, agent=memory.scope.agent, session=memory.scope.session, source=_source(memory.provenance)
            )
            if len(body.text) > READ_INLINE:
                read = await asyncio.to_thread(self._read, told, body.text, scope)
            else:
                read = self._read(told, body.text, scope)
            found += [_from(claim, memory.id) for claim in read.claims]
        return replace(draft, claims=(*draft.claims, *found))

    def _read(self, told: Draft, text: str, scope: Scope) -> Draft:
        return self._learning.from_rules(told, _deeds(text[:_READ]), scope)


def _deeds(text: str) -> list[Claim]:
    return [claim for claim in experience_claims(text) if not claim.negated]


def _source(provenance: Sequence[Provenance]) -> Provenance | None:
    return provenance[0] if provenance else None


def _from(claim: Draft, episode: str) -> Draft:
    return claim if claim.source is None else replace(claim, source=replace(claim.source, derived_from=(episode,)))
