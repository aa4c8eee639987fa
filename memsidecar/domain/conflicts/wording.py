"""A conflict in words, worded when it is read: in the language of its memories, English or Chinese."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from memsidecar.domain import attributes
from memsidecar.domain.conflict import Conflict, ConflictState, Resolution, Rule
from memsidecar.domain.conflicts.chain import order_of
from memsidecar.domain.language import language_of
from memsidecar.domain.memory import Entity, Fact, Memory, Preference, State
from memsidecar.domain.view import IDENTITY

_LONGEST = 120
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def explanation(conflict: Conflict, memories: Mapping[str, Memory]) -> str:
    """One sentence on what conflicts and what was made of it. `memories` has those of the conflict that are there, and
    the entities that they name, by id."""
    there = _there(conflict, memories)
    chinese = _language(there) == "zh"
    if len(there) < 2:
        return "其中的记忆已被清除。" if chinese else "Memories of it were purged."
    quotes = [_quoted(m, chinese) for m in there]
    listed = ("、" if chinese else ", ").join(quotes[:-1]) + ("和" if chinese else " and ") + quotes[-1]
    if conflict.attribute == IDENTITY:
        return f"{listed}是同一个。" if chinese else f"{listed} were taken for one and the same."
    return _sentence(conflict, memories, listed, chinese)


def _sentence(conflict: Conflict, memories: Mapping[str, Memory], listed: str, chinese: bool) -> str:
    what = _RULES[conflict.rule][chinese].format(listed)
    winner = memories.get(conflict.winner)
    won = _quoted(winner, chinese) if winner is not None else ""
    match conflict.state, conflict.resolution:
        case ConflictState.OPEN, _:
            outcome = ("nothing is decided", "尚未裁定")
        case ConflictState.DISMISSED, _:
            outcome = ("it was dismissed", "已作罢")
        case ConflictState.UNDONE, _:
            outcome = ("what was decided was taken back", "裁定已撤回")
        case _, Resolution.KEPT_BOTH:
            outcome = ("both hold", "两者都成立")
        case _, Resolution.SPLIT:
            outcome = ("each holds in its own time", "各在自己的时期成立")
        case _, Resolution.CORRECTED:
            outcome = (f"{won} holds, the rest never did", f"{won}成立，其余从未成立")
        case _, Resolution.REPLACED:
            outcome = (f"none was right; {won} is", f"都不对，{won}才对")
        case _ if winner is not None and winner.valid_from and winner.valid_from > (conflict.resolved_at or 0):
            day = _day(winner.valid_from)
            outcome = (f"{won} holds from {day} on, the rest until then", f"从{day}起{won}成立，其余到那时为止")
        case _:
            outcome = (f"{won} holds now, the rest is history", f"现在{won}成立，其余已成历史")
    return f"{what}；{outcome[1]}。" if chinese else f"{what}; {outcome[0]}."


_RULES = {
    Rule.VALUE: ("{} are different values of what has one at a time", "{}是同一件事的不同说法"),
    Rule.POLARITY: ("{} are opposite wishes", "{}是相反的喜好"),
    Rule.NEGATION: ("{} affirm and deny the same", "{}一个肯定一个否定"),
    Rule.EXPERIENCE: ("{}: what is said never to have been done, and its doing", "{}：一说没做过，一说做过"),
}


def _day(time: int) -> str:
    return (_EPOCH + timedelta(microseconds=time)).date().isoformat()


def question(conflict: Conflict, memories: Mapping[str, Memory]) -> tuple[str, str]:
    """What the agent can ask the user, and its language (en, zh); empty when there is nothing to ask: the conflict is
    not open, or its memories are gone."""
    there = [m for m in _there(conflict, memories) if m.state is not State.DELETED]
    if conflict.state is not ConflictState.OPEN or len(there) < 2:
        return "", ""
    language = "zh" if _language(there) == "zh" else "en"
    one, other = there[0], there[-1]
    a, b = _value(one, memories), _value(other, memories)
    attribute, of = _attribute(conflict, one)
    if conflict.rule is not Rule.VALUE:
        b = a
    if attribute is None or not a or not b:
        return _generic(one, other, language), language
    return attribute.question(a, b, language, of, _subject(conflict, memories)), language


def _generic(one: Memory, other: Memory, language: str) -> str:
    quotes = _quoted(one, language == "zh"), _quoted(other, language == "zh")
    if language == "zh":
        return f"{quotes[0]}和{quotes[1]}，哪个是对的？"
    return f"Which of these is right: {quotes[0]} or {quotes[1]}?"


def _attribute(conflict: Conflict, memory: Memory) -> tuple[attributes.Attribute | None, str]:
    if conflict.rule is Rule.POLARITY:
        return attributes.ATTRIBUTES.get("likes"), ""
    match memory.body:
        case Fact(predicate=name) | Preference(topic=name):
            known = attributes.slot_of(name)
            if known is not None and known[0].key == conflict.attribute:
                return known
        case _:
            pass
    return None, ""


def _subject(conflict: Conflict, memories: Mapping[str, Memory]) -> str:
    known = memories.get(conflict.subject) if conflict.subject else None
    return known.body.display_name if known is not None and isinstance(known.body, Entity) else ""


def _value(memory: Memory, memories: Mapping[str, Memory]) -> str:
    match memory.body:
        case Fact(object_entity=entity) if entity:
            known = memories.get(entity)
            found = known.body.display_name if known is not None and isinstance(known.body, Entity) else ""
        case Fact(object_text=text, object_value=value):
            found = text or _plain(value)
        case Preference(value=value, topic=topic):
            found = value or topic
        case _:
            found = ""
    return found if len(found) <= _LONGEST else ""


def _plain(value: str) -> str:
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return found if isinstance(found, str) else value


def _there(conflict: Conflict, memories: Mapping[str, Memory]) -> list[Memory]:
    ids = (conflict.winner, *conflict.losers) if conflict.attribute == IDENTITY else conflict.memories
    return sorted((memories[i] for i in ids if i in memories), key=order_of)


def _language(memories: Sequence[Memory]) -> str:
    """That of the newest of them that has one."""
    languages = (language_of(m.text[:1_000]) for m in reversed(memories))
    return next((language for language in languages if language != "und"), "en")


def _quoted(memory: Memory, chinese: bool) -> str:
    text = " ".join(memory.text[: 4 * _LONGEST].split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"
    return f"“{text}”" if chinese else f'"{text}"'
