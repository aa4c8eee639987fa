"""Learning: what a text says of the user and of others, as drafts that are remembered with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace

from memsidecar.domain.claims import Claim, Span
from memsidecar.domain.draft import Declined, Draft
from memsidecar.domain.gate import Gate
from memsidecar.domain.memory import Body, Episode, Fact, Kind, Preference
from memsidecar.domain.scope import Scope
from memsidecar.domain.speakers import heard_as, own_parts
from memsidecar.domain.structuring import RULES, Saying, body_of, filled, importance_of, is_of, structured
from memsidecar.ports.runtime import Clock
from memsidecar.services.named_times import NamedTimes
from memsidecar.services.turn import Turn

Rules = Callable[[str], Sequence[Claim]]
"""What the author of a text says in it, by rules."""
Worth = Callable[[str], bool]
"""Whether a text may hold what only a model finds."""

# Code points that are read on the loop, in less than a millisecond; in the worst case four. More of them in a thread.
READ_INLINE = 600
# The statements of facts are read in up to two ways.
_FACT_INLINE = READ_INLINE // 2
# Longer statements are not read again when they change.
_RESTATED = 1_000
# A statement without its subject, "lives in Rome", is read as said of somebody.
_SOMEBODY = "Sam"
_INTRODUCED = f"My friend {_SOMEBODY} "
_SUBJECTS = ("the user ", "user ", "he ", "she ", "they ")
_CHINESE_SUBJECTS = ("用户", "他", "她")


# What a sentence's structure is, of a fact or of a preference.
_STRUCTURE = frozenset(
    {"predicate", "object_text", "object_entity", "object_value", "negated", "topic", "value", "polarity"}
)


class Learning:
    """`rules` is None when nothing is to be read, `worth` when there is no model to ask."""

    def __init__(
        self, rules: Rules | None, times: NamedTimes, clock: Clock, gate: Gate | None = None, worth: Worth | None = None
    ) -> None:
        self._rules, self._times, self._clock, self._worth = rules, times, clock, worth
        self._gate = gate or Gate()

    @property
    def by_rules(self) -> bool:
        return self._rules is not None

    async def __call__(self, drafts: Sequence[Draft], scope: Scope) -> list[Draft]:
        """The drafts with what was read out of them: `claims` and `declined` of what somebody said, and whether a model
        is to be asked; a fact that is only a sentence gets its structure. Never holds the loop for long."""
        if self._rules is None and self._worth is None:
            return list(drafts)
        read = []
        turn = Turn()
        for draft in drafts:
            match draft.body:
                case Episode(text=text) if len(text) > READ_INLINE:
                    read.append(await asyncio.to_thread(self._read, draft, scope))
                case Fact(statement=text) if len(text) > _FACT_INLINE:
                    read.append(await asyncio.to_thread(self._read, draft, scope))
                case Episode() | Fact():
                    read.append(self._read(draft, scope))
                case _:
                    read.append(draft)
            await turn.give()
        return read

    def from_rules(self, draft: Draft, claims: Sequence[Claim], scope: Scope) -> Draft:
        """The draft of an episode with claims that rules have read out of it, those parts of it that are heard."""
        if not isinstance(draft.body, Episode) or (voice := heard_as(draft.body.speaker, scope)) is None:
            return draft
        parts = own_parts(draft.body.text)
        own = [c for c in claims if any(p.start <= c.span.start and c.span.end <= p.end for p in parts)]
        return self._with(draft, own, voice, RULES)

    def from_model(self, draft: Draft, claims: Sequence[Claim], scope: Scope, model: str) -> Draft:
        """The same of what a model says that an episode states."""
        voice = heard_as(draft.body.speaker, scope) if isinstance(draft.body, Episode) else None
        return draft if voice is None else self._with(replace(draft, claims=(), declined=()), claims, voice, model)

    def _read(self, draft: Draft, scope: Scope) -> Draft:
        match draft.body:
            case Episode():
                return self._heard(draft, draft.body, scope)
            case Fact() as fact if not fact.predicate and not fact.object_text and self._rules is not None:
                return self._structured(draft, fact, self._rules)
            case _:
                return draft

    def _heard(self, draft: Draft, episode: Episode, scope: Scope) -> Draft:
        voice = heard_as(episode.speaker, scope)
        if voice is None:
            return draft
        parts = own_parts(episode.text) if draft.heard is None else draft.heard
        if self._rules is not None:
            claims = [c for part in parts for c in _within(episode.text, part, self._rules)]
            draft = self._with(draft, claims, voice, RULES)
        asks = self._worth is not None and any(self._worth(episode.text[p.start : p.end]) for p in parts)
        return replace(draft, heard=tuple(parts), asks=asks)

    def _with(self, draft: Draft, claims: Sequence[Claim], voice: str, extractor: str) -> Draft:
        if not claims:
            return draft
        saying = Saying(draft, voice, self._said(draft), extractor)
        kept: list[Draft] = []
        declined: list[Declined] = []
        for claim in claims:
            if refusal := self._gate.refusal(claim, importance_of(claim)):
                declined.append(Declined(claim.statement, refusal))
            else:
                kept.append(structured(claim, saying, *self._interval(draft, claim, saying.time)))
        return replace(draft, claims=(*draft.claims, *kept), declined=(*draft.declined, *declined))

    def _said(self, draft: Draft) -> int:
        if isinstance(draft.body, Episode) and draft.body.start_time is not None:
            return draft.body.start_time
        time = draft.source.time if draft.source is not None else None
        return self._clock.now() if time is None else time

    def _interval(self, draft: Draft, claim: Claim, said: int) -> tuple[int | None, int | None]:
        text = draft.body.text if isinstance(draft.body, Episode) else ""
        words = "" if claim.time is None else text[claim.time.start : claim.time.end]
        if not words.strip() or words.strip().casefold() in claim.value.casefold():
            # The time is what is said ("the deadline is March 3"), not when it is so.
            return said, None
        return self._times.interval(words, claim.time_role, text[claim.span.start : claim.span.end], said)

    async def restated(self, known: Body, changes: Mapping[str, object]) -> Mapping[str, object]:
        """The changes of a memory whose sentence changes, with its structure, where that was read from the sentence: it
        follows the new one, or goes. What a caller has said of it, or says now, stays."""
        statement = changes.get("statement")
        if self._rules is None or not isinstance(statement, str) or not isinstance(known, Fact | Preference):
            return changes
        if _STRUCTURE & changes.keys() or max(len(statement), len(known.statement)) > _RESTATED:
            return changes
        if len(statement) + len(known.statement) > _FACT_INLINE:
            return await asyncio.to_thread(_restated, known, statement, changes, self._rules)
        return _restated(known, statement, changes, self._rules)

    def _structured(self, draft: Draft, fact: Fact, rules: Rules) -> Draft:
        claim = _only_claim(fact.statement, rules)
        if claim is None or claim.kind is not Kind.FACT:
            return draft
        return replace(draft, body=filled(fact, claim), manner=claim.manner)


def _restated(
    known: Fact | Preference, statement: str, changes: Mapping[str, object], rules: Rules
) -> Mapping[str, object]:
    before = _only_claim(known.statement, rules)
    if before is None or not is_of(known, before):
        return changes
    after = _only_claim(statement, rules)
    empty = Fact("") if isinstance(known, Fact) else Preference("")
    body = body_of(after) if after is not None else empty
    if type(body) is not type(known):
        body = empty
    names = _STRUCTURE & {each.name for each in fields(known)}
    return {**changes, **{name: getattr(body, name) for name in names}}


def _only_claim(statement: str, rules: Rules) -> Claim | None:
    """What a sentence states, when that is one thing: a memory has one slot."""
    for text in _readings(" ".join(statement.split())):
        claims = [claim for claim in rules(text) if claim.value != _SOMEBODY]
        if claims:
            alone = len(claims) == 1 and claims[0].subject in ("", _SOMEBODY)
            return claims[0] if alone else None
    return None


def _within(text: str, part: Span, rules: Rules) -> Sequence[Claim]:
    """The claims of a part, their places those in the whole text."""
    if part.start == 0 and part.end == len(text):
        return rules(text)
    shift = part.start
    return [
        replace(
            claim,
            span=Span(claim.span.start + shift, claim.span.end + shift),
            time=None if claim.time is None else Span(claim.time.start + shift, claim.time.end + shift),
        )
        for claim in rules(text[part.start : part.end])
    ]


def _readings(statement: str) -> Sequence[str]:
    """A statement about somebody who is known already, as a sentence about him."""
    for subject in _CHINESE_SUBJECTS:
        if statement.startswith(subject):
            return (f"我{statement[len(subject) :]}",)
    lowered = statement.casefold()
    for subject in _SUBJECTS:
        if lowered.startswith(subject):
            return (f"{_INTRODUCED}{statement[len(subject) :]}",)
    if not statement.isascii():
        return (statement, f"我{statement}")
    first = statement.partition(" ")[0]
    return (statement, f"{_INTRODUCED}{statement}") if first.islower() else (statement,)
