"""Claims as drafts of memories: what is said becomes a fact or a preference of a slot."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from memsidecar.domain.attributes import attribute_of
from memsidecar.domain.claims import Claim
from memsidecar.domain.conflict import Source
from memsidecar.domain.draft import Draft
from memsidecar.domain.extraction.offices import OFFICES
from memsidecar.domain.memory import Body, Fact, Kind, Preference, Provenance
from memsidecar.domain.mentions import MAX_NAME, Mention
from memsidecar.domain.text import display_name, entity_key

PERSON = "person"
RULES = "rules"
"""`Provenance.extractor` of what was read by rules."""
# What was done, or never: it is of use only together with its opposite, so both pass the gate.
_EXPERIENCE = "experience"
_EXPERIENCE_IMPORTANCE = 0.6
# "my sister", 我姐姐: somebody whom only the speaker's relation to him names.
_OWN = re.compile(r"^(?:(?:my|our)\s+|我们?的?)(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Saying:
    """Who said a text and when (microseconds). `voice` is the name of who says "I" in it; empty: the user."""

    draft: Draft
    voice: str
    time: int
    extractor: str = RULES


def importance_of(claim: Claim) -> float:
    """How much a claim matters, 0 to 1: at least as much as its attribute does."""
    if claim.attribute == _EXPERIENCE:
        return max(claim.importance, _EXPERIENCE_IMPORTANCE)
    known = attribute_of(claim.attribute)
    return claim.importance if known is None else max(claim.importance, known.importance)


def _subject(claim: Claim, voice: str) -> Mention | None:
    about = _about(claim.subject, voice)
    return Mention(about, "" if claim.attribute in OFFICES else PERSON) if about else None


def structured(claim: Claim, saying: Saying, valid_from: int | None, valid_to: int | None) -> Draft:
    """The draft of a claim. Whose it is, is a name until it is stored."""
    draft = saying.draft
    speaker = draft.body.speaker if hasattr(draft.body, "speaker") else ""
    source = draft.source or Provenance(session=draft.session, agent=draft.agent)
    return Draft(
        body=body_of(claim),
        path=draft.path,
        agent=draft.agent,
        session=draft.session,
        source=replace(
            source,
            derived_from=(),
            extractor=saying.extractor,
            speaker=source.speaker or speaker,
            time=saying.time,
            start=claim.span.start,
            end=claim.span.end,
        ),
        valid_from=valid_from,
        valid_to=valid_to,
        expires_at=draft.expires_at,
        confidence=claim.confidence,
        importance=importance_of(claim),
        labels=draft.labels,
        policy=draft.policy,
        manner=claim.manner,
        said_by=_source(claim, saying, draft.said_by),
        subject_named=_subject(claim, saying.voice),
        object_named=_named(claim),
        only_denies=claim.only_denies,
    )


def _named(claim: Claim) -> Mention | None:
    """Whom or what a fact's value names. What is denied makes no entity."""
    name = display_name(claim.value)
    if claim.kind is not Kind.FACT or not claim.entity_type or claim.negated or not 0 < len(name) <= MAX_NAME:
        return None
    return Mention(name, claim.entity_type) if entity_key(name) else None


def body_of(claim: Claim) -> Body:
    """What a claim says, whoever it is about."""
    statement = claim.statement.strip()
    if claim.kind is Kind.PREFERENCE:
        topic, value = _topic(claim)
        return Preference(statement, topic=topic, value=value, polarity=claim.polarity)
    return Fact(statement, predicate=claim.attribute, object_text=claim.value, negated=claim.negated)


def filled(fact: Fact, claim: Claim) -> Fact:
    """A fact that a caller gave as a sentence only, with the structure that a claim of that sentence has."""
    return replace(fact, predicate=claim.attribute, object_text=claim.value, negated=fact.negated or claim.negated)


def is_of(body: Fact | Preference, claim: Claim) -> bool:
    """Whether a memory has the structure that a claim has; an entity in place of a value's words is the same."""
    made = body_of(claim)
    match body, made:
        case Fact(), Fact():
            value = body.object_entity or body.object_text == made.object_text
            return bool(value) and (body.predicate, body.negated) == (made.predicate, made.negated)
        case Preference(), Preference():
            return (body.topic, body.value, body.polarity) == (made.topic, made.value, made.polarity)
        case _:
            return False


def is_description(subject: str) -> bool:
    """Whether a subject is named by the speaker's relation to it only."""
    return _OWN.match(subject) is not None


def relation_in(description: str) -> str:
    """The relation by which somebody is described: "my sister" -> "sister"."""
    return _OWN.sub("", description, count=1).strip()


def _topic(claim: Claim) -> tuple[str, str]:
    """What a preference is about, and what is preferred in it. Of a wish that has one answer at a time (a favourite
    colour, a style of answering) the topic is the question; of the rest it is the thing itself."""
    key, colon, qualifier = claim.attribute.partition(":")
    if colon:
        return f"{key} {qualifier}", claim.value
    known = attribute_of(key)
    if known is not None and known.kind is Kind.PREFERENCE and known.cardinality.name == "SINGLE":
        return key.replace("_", " "), claim.value
    return claim.value, ""


def _about(subject: str, voice: str) -> str:
    """A subject as the name of an entity: what one of several people calls his sister is not another one's sister."""
    name = " ".join(subject.split())
    if not name:
        return voice
    if voice and is_description(name):
        chinese = not name.isascii() and name.startswith("我")
        return f"{voice}的{relation_in(name)}" if chinese else f"{voice}'s {relation_in(name)}"
    return name


def _source(claim: Claim, saying: Saying, given: Source) -> Source:
    """Somebody in a chat of people is as good a source as a user about himself, and hearsay about others."""
    if saying.voice and claim.subject and not is_description(claim.subject):
        return min(given, Source.OTHER)
    return given
