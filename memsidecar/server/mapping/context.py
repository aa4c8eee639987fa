"""Contexts: what is asked for, and how one is answered."""

from __future__ import annotations

from dataclasses import replace

from memsidecar.domain import limits
from memsidecar.domain.context.values import (
    DEFAULT_TOKENS,
    DEFAULT_WEIGHTS,
    ORDER,
    Built,
    Context,
    Format,
    Part,
    Share,
    Wanted,
)
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Scope
from memsidecar.domain.session import Message
from memsidecar.server.mapping.names import name_of
from memsidecar.server.mapping.question import read_question
from memsidecar.server.mapping.recall import set_report
from memsidecar.server.mapping.sessions import set_message
from memsidecar.server.tokens import revision_token
from memsidecar.server.validation import Violations
from memsidecar.v1 import recall_service_pb2 as pb
from memsidecar.v1 import session_service_pb2


def read_wanted(request: pb.BuildContextRequest, scope: Scope, violations: Violations) -> Wanted:
    question = read_question(request, scope, violations)
    if not request.options.max_hits:
        question = replace(question, max_hits=limits.CONTEXT_HITS)
    return Wanted(
        question=question,
        session=question.conversation,
        max_tokens=request.max_tokens or DEFAULT_TOKENS,
        tokenizer=request.tokenizer,
        shares=_read_shares(request),
        format=Format(request.format or Format.MARKDOWN),
        cite=request.include_citations,
        system_prompt=request.system_prompt,
        recalled_as_system=request.recalled_as_system,
    )


def _read_shares(request: pb.BuildContextRequest) -> dict[Part, Share]:
    """Those of the sections that are not left out, in their order."""
    given = {int(section.kind): section for section in request.sections}
    shares: dict[Part, Share] = {}
    for part in ORDER:
        section = given.get(part)
        if section is None:
            shares[part] = Share(weight=DEFAULT_WEIGHTS[part])
        elif section.max_tokens >= 0:
            weight = section.weight if section.HasField("weight") else DEFAULT_WEIGHTS[part]
            shares[part] = Share(section.min_tokens, section.max_tokens or None, weight)
    return shares


def context_response(built: Built) -> pb.BuildContextResponse:
    context = built.context
    response = pb.BuildContextResponse(
        text=context.text,
        token_count=context.token_count,
        stable_prefix_tokens=context.stable_tokens,
        degraded=built.degraded,
        suspicious_memories=map(_name, context.suspicious),
    )
    response.revision.token = revision_token(built.partition, built.revision)
    for message in context.messages:
        _set_message(response.messages.add(), message)
    for section in context.sections:
        response.sections.add(
            kind=int(section.part),
            text=section.text,
            token_count=section.token_count,
            memories=map(_name, section.memories),
            truncated=section.truncated,
        )
    for citation in context.citations:
        response.citations.add(reference=citation.reference, memory=_name(citation.memory))
    _add_omissions(response, context)
    for report in built.reports:
        set_report(response.tier_reports.add(), report)
    return response


def _add_omissions(response: pb.BuildContextResponse, context: Context) -> None:
    for omission in context.omissions:
        response.omissions.add(
            memory=_name(omission.memory) if omission.memory is not None else "",
            reason=int(omission.reason),
            score=omission.score,
            message_seq=omission.message_seq,
        )


def _set_message(target: session_service_pb2.Message, message: Message) -> None:
    if message.seq:
        set_message(target, message)
        return
    # Made for this answer: nobody said it at any time.
    target.role = session_service_pb2.MessageRole.ValueType(message.role)
    target.text = message.text
    target.name = message.name
    target.token_count = message.token_count


def _name(memory: Memory) -> str:
    return name_of(memory.scope.partition, "memories", memory.id)
