"""What a context takes and gives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memsidecar_client._enums import ContextSectionKind, OmissionReason
from memsidecar_client._json_values import JsonValue
from memsidecar_client._recall_values import TierReport
from memsidecar_client._session_values import Message

# What the API of OpenAI takes as the name of a participant.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class SectionBudget:
    """One section's share of the tokens: a minimum while it can fill it, a maximum (0: none; negative: leave it out),
    and the weight for what is left after the minima (None: the server's)."""

    kind: ContextSectionKind
    min_tokens: int = 0
    max_tokens: int = 0
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class ContextSection:
    """One section as it stands in the context. `memories` are resource names in their order; `truncated`: something was
    left out or shortened for want of tokens."""

    kind: ContextSectionKind
    text: str
    token_count: int
    memories: tuple[str, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Omission:
    """One memory (its resource name) or message of the session (its seq) that was left out."""

    reason: OmissionReason
    memory: str = ""
    score: float = 0.0
    message_seq: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """What a model should read: `text`, or in the messages format `messages`.

    The first `stable_prefix_tokens` are the same for every question and session at one revision. `citations` maps the
    references in the text ("m1") to resource names. `suspicious_memories` read like instructions to a model; they are
    in the context all the same, as data. `degraded`: a source did not answer, and its sections are left out.
    """

    text: str
    messages: tuple[Message, ...]
    sections: tuple[ContextSection, ...]
    omissions: tuple[Omission, ...]
    citations: dict[str, str]
    suspicious_memories: tuple[str, ...]
    token_count: int
    stable_prefix_tokens: int
    degraded: bool
    revision: str
    tiers: tuple[TierReport, ...]

    def openai_messages(self) -> list[dict[str, JsonValue]]:
        """`messages` as the chat completions of OpenAI take them."""
        return [_openai(message) for message in self.messages]


def _openai(message: Message) -> dict[str, JsonValue]:
    made: dict[str, JsonValue] = {"role": message.role.name.lower(), "content": message.text}
    # A tool's message has no name there: its call says which tool it was.
    if message.name and not message.tool_call_id and _NAME.fullmatch(message.name):
        made["name"] = message.name
    if message.tool_calls:
        made["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        made["tool_call_id"] = message.tool_call_id
    return made
