"""What is found in texts and in what they state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from memsidecar.domain.draft import Draft
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.learned import ClaimFound
from memsidecar.services.preparing import Prepared, Preparing
from memsidecar.services.turn import Turn


async def with_claims(
    preparing: Preparing, drafts: Sequence[Draft], *, embed: bool
) -> tuple[list[Prepared], list[list[ClaimFound]], dict[str, Counter[str]]]:
    """What is found in the drafts and in their claims. A claim that is its whole text shares the text's vectors;
    the others are embedded with it, in one call. Raises as `Preparing`."""
    turn = Turn()
    apart: list[list[Draft]] = []
    for draft in drafts:
        await turn.give()
        own_text = embedded_text(draft.body) if draft.claims else ""
        apart.append([claim for claim in draft.claims if embedded_text(claim.body) != own_text])
    flat = [*drafts, *(claim for group in apart for claim in group)]
    found = await preparing(flat, embed=embed)
    terms = {each.text: each.terms for each in found}
    prepared, rest = found[: len(drafts)], iter(found[len(drafts) :])
    claims: list[list[ClaimFound]] = []
    for draft, whole, group in zip(drafts, prepared, apart, strict=True):
        await turn.give()
        own = {id(claim): next(rest) for claim in group}
        claims.append([])
        for claim in draft.claims:
            await turn.give()
            each = own.get(id(claim)) or replace(await preparing.read(claim.body, ""), vectors=whole.vectors)
            terms[each.text] = each.terms
            claims[-1].append(ClaimFound(claim, each.mentions, each.vectors))
    return prepared, claims, terms
