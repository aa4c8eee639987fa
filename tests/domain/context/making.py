"""Material for contexts, and words for tokens: counts that a reader can check."""

from __future__ import annotations

import re
from typing import Any

from memsidecar.domain.context.values import Context, Format, Material, Part, Wanted
from memsidecar.domain.memory import Body, Episode, Fact, Memory, Preference
from memsidecar.domain.recall import Hit, Question, Tier
from memsidecar.domain.scope import Scope
from memsidecar.domain.session import Message, Role, ScratchEntry

ANN = Scope("acme", "ann")
MAY = 1_683_504_000_000_000  # 8 May 2023
_TOKEN = re.compile(r"\w+|[^\w\s]|\n+")


def count(text: str) -> int:
    """Words, signs and runs of line ends."""
    return len(_TOKEN.findall(text))


def memory(name: str, body: Body | str, **more: Any) -> Memory:
    return Memory(name, ANN, Fact(body) if isinstance(body, str) else body, MAY, MAY, **more)


def hit(name: str, body: Body | str, score: float = 0.5, **more: Any) -> Hit:
    return Hit(ANN.partition, memory(name, body, **more), score, Tier.VECTOR)


def said(seq: int, text: str, role: Role = Role.USER, **more: Any) -> Message:
    return Message(role, text, seq, token_count=count(text), **more)


def asked(text: str = "What about the orders?", **more: Any) -> Question:
    return Question(ANN, text, **more)


PROFILE = (memory("p1", Preference("Ann takes oat milk.")), memory("p2", "Ann lives in Lisbon."))
HITS = (
    hit("f1", "The orders table has 40 million rows."),
    hit("e1", Episode("We can move the orders next week.", speaker="Ben", start_time=MAY)),
)
MESSAGES = tuple(said(seq, f"Message {seq} about the orders.") for seq in range(1, 41))
SCRATCH = (ScratchEntry("plan", '{"step":2}'), ScratchEntry("a: b\n# x", "[1]"))
ALL = Material(PROFILE, HITS, MESSAGES, SCRATCH)


def wanted(form: Format = Format.MARKDOWN, tokens: int = 2000, **more: Any) -> Wanted:
    return Wanted(more.pop("question", asked()), "s", tokens, format=form, **more)


def whole(context: Context) -> str:
    """All that a model would read, in order."""
    return context.text + "".join(message.text for message in context.messages)


def section(context: Context, part: Part) -> str:
    return next((section.text for section in context.sections if section.part is part), "")
