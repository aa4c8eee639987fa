"""When two memories are the same."""

from __future__ import annotations

from hashlib import sha256

from memsidecar.domain.memory import Body, Entity, Episode, Fact, Preference, Procedure
from memsidecar.domain.text import entity_key, normalise

# 16 bytes of SHA-256: a collision within one partition is out of reach, and a row stays small.
DIGEST_BYTES = 16


def digest_of(body: Body, agent: str) -> bytes:
    """The hash that equal content shares: kind, agent and what the body says, as `normalise` sees it.

    The same words said by two people are two memories; said twice by one they are one memory with two sources.
    """
    parts: tuple[str, ...]
    match body:
        case Fact(statement=text, subject=subject, predicate=predicate):
            target = (body.object_entity, normalise(body.object_text), normalise(body.object_value))
            parts = ("fact", subject, normalise(predicate), *target, normalise(text))
        case Preference(statement=text, topic=topic, value=value, polarity=polarity, subject=subject):
            sign = "+" if polarity > 0 else "-" if polarity < 0 else "0"
            parts = ("preference", subject, normalise(topic), normalise(value), sign, normalise(text))
        case Entity(display_name=name):
            parts = ("entity", entity_key(name) or normalise(name))
        case Episode(text=text, speaker=speaker, title=title):
            parts = ("episode", normalise(speaker), normalise(title), normalise(text))
        case Procedure(statement=text, title=title, steps=steps):
            parts = ("procedure", normalise(title), normalise(text), *map(normalise, steps))
    # With the length before each part, no text can pass for two.
    joined = "".join(f"{len(part)}:{part}" for part in (agent, *parts))
    return sha256(joined.encode()).digest()[:DIGEST_BYTES]
