"""Who is heard: only what the user's side says is read for facts about it."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Span
from memsidecar.domain.scope import Scope
from memsidecar.domain.traits import ASSISTANTS

_USER = frozenset({"", "user", "human", "me", "用户", "我", "ユーザー", "사용자"})
_NOT_HEARD = ASSISTANTS | {
    *"developer function agent narrator chatgpt gpt claude gemini copilot llm".split(),
    *"系统 工具 机器人 智能助手 システム ツール 시스템 도구 어시스턴트".split(),
}
_WORD = re.compile(r"[\s_\-(\[:/.]+")
# A line that begins with who says it.
_MARK = re.compile(
    r"^[ \t>*#\-]{0,4}(?P<who>[^\s:：*#>\-][^\n:：]{0,30}?)[ \t*]{0,3}[:：]",
    re.MULTILINE,
)
_NAME = re.compile(r"[A-Z][a-z]{1,20}(?: [A-Z][a-z]{1,20})?|[\u4e00-\u9fff]{2,4}")

_FIRST_PERSON = re.compile(r"[ \t*]{0,4}(?:(?:i|my|we|our)\b|[我咱俺])", re.IGNORECASE)


def heard_as(speaker: str, scope: Scope) -> str | None:
    """Whose first person it is when `speaker` says "I": empty for the user, a name for somebody else, None when what he
    says is not to be read. Where a namespace has no users, nobody knows who an unnamed speaker is."""
    name = " ".join(speaker.split())
    folded = name.casefold()
    if folded in _USER or (scope.user and folded == scope.user.casefold()):
        return "" if scope.user else None
    if folded in _NOT_HEARD or _WORD.split(folded, 1)[0] in _NOT_HEARD:
        return None
    if scope.agent and folded == scope.agent.casefold():
        return None
    return name


def own_parts(text: str) -> list[Span]:
    """The parts of a text that its author says: all of it, unless it is a transcript with the roles of who speaks at
    the beginnings of its lines; then what the user says there. In one with names, nobody knows who the user is."""
    marks = [(found, _role(found["who"])) for found in _MARK.finditer(text)]
    if not any(role is not None for _, role in marks):
        names = {found["who"] for found, _ in marks if _NAME.fullmatch(found["who"])}
        return [Span(0, len(text))] if len(names) < 2 and text.strip() else []
    parts = []
    start, own = 0, True
    for found, role in marks:
        if role is None:
            if own and _NAME.fullmatch(found["who"]) and _FIRST_PERSON.match(text, found.end()):
                # Where roles speak, a name that says "I" is somebody else: his line is not heard.
                line = text.find("\n", found.end())
                parts.append(Span(start, found.start()))
                start = len(text) if line < 0 else line
            continue
        if own and start < found.start():
            parts.append(Span(start, found.start()))
        start, own = found.end(), role
    if own and start < len(text):
        parts.append(Span(start, len(text)))
    return [part for part in parts if text[part.start : part.end].strip()]


def _role(who: str) -> bool | None:
    """Whether a line's beginning stands for the user (True) or for somebody who is not heard (False)."""
    folded = who.strip().casefold()
    if folded in _USER:
        return True
    return False if folded in _NOT_HEARD else None
