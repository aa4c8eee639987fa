"""The rules of single fields, by their full names. What is not here follows from the field's type (schema.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memsidecar.domain import limits
from memsidecar.domain.context.values import DEFAULT_TOKENS
from memsidecar.domain.generation.values import MAX_CREDIT, MAX_DELTA_BYTES, MAX_MIN_CHARS, MAX_MIN_INTERVAL
from memsidecar.server.validation.rules import (
    Rule,
    Violation,
    among,
    anything,
    between,
    identifier,
    json_value,
    key,
    labels,
    memory_id,
    repeated,
    request_id,
    shorter_than,
    text,
    time_zone,
    vector,
    weights,
    whole,
)

_TEXT = text(limits.MAX_TEXT_BYTES)
_ID = identifier()
_UNIT = between(0, 1)
_RELATIONS = "MENTIONS ABOUT DERIVED_FROM FOLLOWS RELATED SUPERSEDES CONTRADICTS SUPPORTS PREFERS".split()

_FIELDS: dict[str, Rule] = {
    "Scope.namespace": _ID,
    "Scope.user": _ID,
    "Scope.agent": _ID,
    "Scope.session": _ID,
    "Memory.confidence": _UNIT,
    "Memory.importance": _UNIT,
    "Memory.labels": labels,
    "Memory.usefulness": between(-1, 1),
    # Those given plus those that the server found, so that a memory that was read can be sent back.
    "Memory.mentions": repeated(text(), 2 * limits.MAX_REPEATED),
    "Fact.statement": _TEXT,
    "Fact.value": json_value(),
    "Preference.statement": _TEXT,
    "Preference.polarity": between(-1, 1),
    "Entity.display_name": identifier(),
    "Entity.aliases": repeated(identifier()),
    "Episode.text": _TEXT,
    "Episode.speaker": _ID,
    "Procedure.statement": _TEXT,
    "Provenance.session": _ID,
    "Provenance.messages": repeated(_ID),
    "Provenance.agent": _ID,
    "Provenance.speaker": _ID,
    "Embedding.values": vector,
    "MemoryFilter.labels": labels,
    "MemoryFilter.min_importance": _UNIT,
    "MemoryFilter.min_confidence": _UNIT,
    "MemoryFilter.sessions": repeated(_ID),
    "MemoryFilter.exclude_sessions": repeated(_ID),
    "RememberItem.text": _TEXT,
    "RememberItem.speaker": _ID,
    "RememberItem.entities": repeated(_ID),
    "RememberOptions.labels": labels,
    "ConversationTurn.text": _TEXT,
    "ConversationTurn.speaker": _ID,
    "ConversationTurn.message": _ID,
    "CreateMemoryRequest.memory_id": memory_id,
    "Query.text": text(limits.MAX_QUERY_BYTES),
    "Query.time_zone": time_zone,
    "GenerationStart.generation_id": identifier(128),
    "GenerationStart.prompt": text(limits.MAX_QUERY_BYTES),
    "GenerationStart.known_memories": repeated(text(), 1_000),
    "GenerationStart.known": repeated(anything, 1_000),
    "KnownMemory.superseded": repeated(text(), 1_000),
    "GenerationStart.initial_credit": whole(MAX_CREDIT),
    "GenerationStart.max_total_hits": whole(1_000),
    "GenerationStart.max_total_tokens": whole(limits.MAX_CONTEXT_TOKENS),
    "GenerationStart.first_seq": whole(1 << 53),
    "GenerationStart.min_confidence": _UNIT,
    "GenerationStart.time_zone": time_zone,
    "Trigger.min_chars": whole(MAX_MIN_CHARS),
    "Trigger.min_interval": shorter_than(MAX_MIN_INTERVAL),
    "Trigger.min_drift": _UNIT,
    "TextDelta.text": text(MAX_DELTA_BYTES),
    "Credit.hits": between(1, MAX_CREDIT),
    "RecallOptions.min_score": _UNIT,
    "RecallOptions.diversity": _UNIT,
    "RecallOptions.profile": _ID,
    "RecallOptions.weights": weights,
    "BuildContextRequest.max_tokens": whole(limits.MAX_CONTEXT_TOKENS),
    "BuildContextRequest.tokenizer": _ID,
    "BuildContextRequest.system_prompt": _TEXT,
    "SectionBudget.min_tokens": whole(limits.MAX_CONTEXT_TOKENS),
    "SectionBudget.max_tokens": anything,
    "SectionBudget.weight": between(0, 1000),
    "Session.labels": labels,
    "Session.message_count": anything,
    "Session.token_count": anything,
    "Session.last_seq": anything,
    "Message.seq": anything,
    "Message.text": _TEXT,
    "Message.name": _ID,
    "Message.group_key": _ID,
    "Message.tool_call_id": _ID,
    "ToolCall.id": _ID,
    "ToolCall.name": _ID,
    "ToolCall.arguments": _TEXT,
    "ScratchEntry.key": key,
    "ScratchEntry.value": json_value(limits.MAX_TEXT_BYTES),
    "Slot.attribute": identifier(),
    "ResolveConflictRequest.answer": text(limits.MAX_QUERY_BYTES),
    "ListNeighborsRequest.max_depth": whole(3),
    "ListNeighborsRequest.relations": repeated(among(_RELATIONS), len(_RELATIONS)),
    "MergeEntitiesRequest.sources": repeated(text(), limits.MAX_MERGED),
    "CreateSessionRequest.session_id": identifier(128),
    "GetScratchRequest.keys": repeated(key),
    "GetScratchRequest.key_prefix": text(4 * limits.MAX_KEY_CHARS),
    "DeleteScratchRequest.keys": repeated(key),
    # Items are checked one by one, so that each gets a result of its own.
    "BatchRememberRequest.items": repeated(anything, limits.MAX_BATCH_ITEMS),
    "StreamRememberItems.items": repeated(anything, limits.MAX_BATCH_ITEMS),
    # Checked with the mask, which says what of it counts.
    "UpdateMemoryRequest.memory": anything,
    **{
        f"{request}.request_id": request_id
        for request in (
            "RememberRequest BatchRememberRequest StreamRememberStart CreateMemoryRequest UpdateMemoryRequest "
            "DeleteMemoryRequest UndeleteMemoryRequest CreateSessionRequest UpdateSessionRequest EndSessionRequest "
            "DeleteSessionRequest AppendMessagesRequest SetScratchRequest DeleteScratchRequest FeedbackRequest "
            "ResolveConflictRequest UndoResolutionRequest MergeEntitiesRequest UndoMergeEntitiesRequest"
        ).split()
    },
}

_REQUIRED: dict[str, tuple[str, ...]] = {
    "Fact": ("statement",),
    "Preference": ("statement",),
    "Entity": ("display_name",),
    "Episode": ("text",),
    "Procedure": ("statement",),
    "Embedding": ("values",),
    "Conversation": ("turns",),
    "ConversationTurn": ("text",),
    "RememberRequest": ("item",),
    "BatchRememberRequest": ("items",),
    "StreamRememberItems": ("items",),
    "CreateMemoryRequest": ("memory",),
    "GetMemoryRequest": ("name",),
    "BatchGetMemoriesRequest": ("names",),
    "UpdateMemoryRequest": ("memory",),
    "DeleteMemoryRequest": ("name",),
    "UndeleteMemoryRequest": ("name",),
    "ListMemoryRevisionsRequest": ("parent",),
    "RecallRequest": ("query",),
    "RecallOnceRequest": ("query",),
    "FeedbackRequest": ("items",),
    "FeedbackItem": ("memory", "kind"),
    "GenerationStart": ("scope",),
    "KnownMemory": ("memory",),
    "GenerationFeedback": ("memory", "kind"),
    "Credit": ("hits",),
    "BuildContextRequest": ("query",),
    "SectionBudget": ("kind",),
    "GetConflictRequest": ("name",),
    "ResolveConflictRequest": ("name",),
    "TemporalSplit": ("parts",),
    "TemporalPart": ("memory",),
    "UndoResolutionRequest": ("name",),
    "ListNeighborsRequest": ("memory",),
    "MergeEntitiesRequest": ("target", "sources"),
    "UndoMergeEntitiesRequest": ("source",),
    "GetJobRequest": ("name",),
    "CancelJobRequest": ("name",),
    "WatchJobRequest": ("name",),
    "GetSessionRequest": ("name",),
    "UpdateSessionRequest": ("session",),
    "EndSessionRequest": ("name",),
    "DeleteSessionRequest": ("name",),
    "AppendMessagesRequest": ("session", "messages"),
    "ListMessagesRequest": ("session",),
    "GetWindowRequest": ("session",),
    "SetScratchRequest": ("session", "entries"),
    "GetScratchRequest": ("session",),
    "DeleteScratchRequest": ("session", "keys"),
    "Message": ("role",),
    "ToolCall": ("id", "name"),
    "ScratchEntry": ("value",),
}

_ANY_OF: dict[str, tuple[str, str]] = {
    "Memory": ("body", "fact, preference, entity, episode and procedure"),
    "RememberItem": ("source", "text, memory and conversation"),
    "ResolveConflictRequest": (
        "resolution",
        "keep_memory, replacement, temporal_split, dismissal and answer",
    ),
}


def _item(item: Any) -> list[Violation]:
    found: list[Violation] = []
    if item.WhichOneof("source") == "text" and not item.text.strip():
        found.append(("text", "is required"))
    if item.HasField("memory") and len(item.memory.provenance) + item.HasField("provenance") > 1:
        found.append(("memory.provenance", "takes one source; remember the memory again for each further one"))
    if item.HasField("conversation") and item.HasField("embedding"):
        found.append(("embedding", "is for one text; a conversation has several"))
    return found


def _memory(memory: Any) -> list[Violation]:
    found: list[Violation] = []
    if memory.ByteSize() > limits.MAX_MEMORY_BYTES:
        found.append(("", f"is larger than {limits.MAX_MEMORY_BYTES:,} bytes"))
    return found + _in_order(memory, "valid_start_time", "valid_end_time")


def _episode(episode: Any) -> list[Violation]:
    return _in_order(episode, "start_time", "end_time")


def _provenance(provenance: Any) -> list[Violation]:
    too_large = provenance.ByteSize() > limits.MAX_PROVENANCE_BYTES
    return [("", f"is larger than {limits.MAX_PROVENANCE_BYTES:,} bytes")] if too_large else []


def _query(query: Any) -> list[Violation]:
    asks = query.HasField("embedding") or query.entities or query.text.strip()
    return [] if asks else [("", "takes at least one of text, embedding and entities")]


def _feedback(request: Any) -> list[Violation]:
    seen: set[str] = set()
    found: list[Violation] = []
    for index, item in enumerate(request.items):
        if item.memory in seen:
            found.append((f"items[{index}].memory", "is there twice; judge each memory once"))
        seen.add(item.memory)
    return found


def _start(start: Any) -> list[Violation]:
    options = start.options
    found = [
        (f"options.{name}", "is not for a generation") for name in ("as_of", "soft_deadline") if options.HasField(name)
    ]
    return found + [
        (f"options.{name}", "is not for a generation")
        for name in ("adaptive_hits", "page_token")
        if getattr(options, name)
    ]


def _resolution(request: Any) -> list[Violation]:
    chosen = request.WhichOneof("resolution")
    found: list[Violation] = []
    if chosen in ("keep_memory", "answer") and not getattr(request, chosen).strip():
        found.append((chosen, "is required"))
    if request.correction and chosen in ("temporal_split", "dismissal"):
        found.append(("correction", "is for keep_memory, replacement and answer"))
    return found


def _interval(interval: Any) -> list[Violation]:
    return _in_order(interval, "start_time", "end_time")


def _history(request: Any) -> list[Violation]:
    if bool(request.memory) == bool(request.slot.attribute):
        return [("slot.attribute", "is needed, or memory instead of it; not both")]
    return [("slot.subject", "goes with slot.attribute")] if request.memory and request.slot.subject else []


def _section(section: Any) -> list[Violation]:
    over = 0 < section.max_tokens < section.min_tokens
    return [("min_tokens", "is more than max_tokens")] if over else []


def _context(request: Any) -> list[Violation]:
    found: list[Violation] = []
    seen: set[int] = set()
    for index, section in enumerate(request.sections):
        if section.kind in seen:
            found.append((f"sections[{index}].kind", "stands twice in the request"))
        seen.add(section.kind)
    least = sum(section.min_tokens for section in request.sections if section.max_tokens >= 0)
    if least > (request.max_tokens or DEFAULT_TOKENS) > 0 and not found:
        found.append(("sections", "have minima that are together more than max_tokens"))
    return found


def _message(message: Any) -> list[Violation]:
    found: list[Violation] = []
    if message.role == 4 and not message.tool_call_id:
        found.append(("tool_call_id", "is required for the role tool"))
    if message.tool_calls and message.role != 3:
        found.append(("tool_calls", "are for the role assistant"))
    # A tool may have nothing to say; whoever else speaks says something.
    if not message.text and not message.tool_calls and message.role != 4:
        found.append(("text", "is required"))
    return found


def _entry(entry: Any) -> list[Violation]:
    # Not among the required fields, because a key may be blank.
    return [] if entry.key else [("key", "is required")]


def _in_order(message: Any, first: str, last: str) -> list[Violation]:
    if not (message.HasField(first) and message.HasField(last)):
        return []
    start, end = getattr(message, first), getattr(message, last)
    return [(last, f"is before {first}")] if (end.seconds, end.nanos) < (start.seconds, start.nanos) else []


_CHECKS: dict[str, Callable[[Any], list[Violation]]] = {
    "Memory": _memory,
    "Episode": _episode,
    "RememberItem": _item,
    "Provenance": _provenance,
    "Query": _query,
    "FeedbackRequest": _feedback,
    "GenerationStart": _start,
    "ResolveConflictRequest": _resolution,
    "TimeInterval": _interval,
    "ListSlotHistoryRequest": _history,
    "SectionBudget": _section,
    "BuildContextRequest": _context,
    "Message": _message,
    "ScratchEntry": _entry,
}

_PACKAGE = "memsidecar.v1."
RULES = {_PACKAGE + name: rule for name, rule in _FIELDS.items()}
"""Field -> rule for its value, for a repeated field or map all of it. Not called for a field that is not set."""
REQUIRED = {_PACKAGE + name: fields for name, fields in _REQUIRED.items()}
"""Message -> fields that must be there and not blank."""
ANY_OF = {_PACKAGE + name: oneof for name, oneof in _ANY_OF.items()}
"""Message -> a oneof that must be set, and its members for the error message."""
CHECKS = {_PACKAGE + name: rule for name, rule in _CHECKS.items()}
"""Message -> rules between its fields."""
