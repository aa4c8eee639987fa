"""Contexts: what is sent, what is read, and OpenAI's form of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Context,
    ContextFormat,
    ContextSection,
    ContextSectionKind,
    Filter,
    InvalidArgument,
    MemoryKind,
    Memsidecar,
    Omission,
    OmissionReason,
    Role,
    Scope,
    SectionBudget,
    Session,
    Tier,
    TierOutcome,
)
from memsidecar_client.v1.recall_service_pb2 import BuildContextResponse

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made

NAME = "namespaces/home/users/ana/sessions/s"


def answer(**more: Any) -> BuildContextResponse:
    return made(
        BuildContextResponse,
        **{
            "text": "# Memory",
            "sections": [{"kind": 3, "text": "tea", "token_count": 5, "memories": ["a"], "truncated": True}],
            "omissions": [{"memory": "b", "reason": 1, "score": 0.5}, {"reason": 3, "message_seq": 7}],
            "token_count": 50,
            "stable_prefix_tokens": 20,
            "tier_reports": [{"tier": 1, "outcome": 3, "message": "away"}],
            "degraded": True,
            "revision": {"token": "r2"},
            "citations": [{"reference": "m1", "memory": "a"}],
            "suspicious_memories": ["a"],
            **more,
        },
    )


async def test_every_option_is_sent_and_every_answer_read(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["BuildContext"] = answer()
    context = await client.build_context(
        "tea",
        conversation=Session(NAME, Scope("home", "ana", session="s")),
        max_tokens=900,
        format=ContextFormat.XML,
        system_prompt="You help.",
        sections=[SectionBudget(ContextSectionKind.FACTS, 1, 2, 0.0), SectionBudget(ContextSectionKind.WINDOW)],
        citations=True,
        recalled_as_system=True,
        tokenizer="gpt-4o",
        embedding=[1, 0],
        entities=["e"],
        time=datetime(2026, 5, 1, tzinfo=UTC),
        tiers=[Tier.VECTOR],
        filter=Filter(kinds=(MemoryKind.FACT,)),
        max_hits=3,
        min_score=0.25,
        soft_deadline=timedelta(milliseconds=250),
        min_revision="r1",
        include_shared=True,
    )
    request = fake.only("BuildContext")
    assert {field.name for field, _ in request.ListFields()} == set(request.DESCRIPTOR.fields_by_name)
    assert (request.query.session, request.query.text, request.max_tokens) == (NAME, "tea", 900)
    facts, window = request.sections
    assert (facts.kind, facts.min_tokens, facts.max_tokens, facts.HasField("weight")) == (3, 1, 2, True)
    assert not window.HasField("weight")
    assert context == Context(
        text="# Memory",
        messages=(),
        sections=(ContextSection(ContextSectionKind.FACTS, "tea", 5, ("a",), True),),
        omissions=(Omission(OmissionReason.BUDGET, "b", 0.5), Omission(OmissionReason.LOW_SCORE, message_seq=7)),
        citations={"m1": "a"},
        suspicious_memories=("a",),
        token_count=50,
        stable_prefix_tokens=20,
        degraded=True,
        revision="r2",
        tiers=context.tiers,
    )
    assert (context.tiers[0].tier, context.tiers[0].outcome) == (Tier.SESSION, TierOutcome.UNAVAILABLE)


async def test_a_conversation_is_named_or_given_and_everything_else_may_be_left(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    await client.build_context("tea", conversation=NAME)
    request = fake.only("BuildContext")
    assert request.query.session == NAME
    assert {field.name for field, _ in request.ListFields()} <= {"scope", "query", "options"}


async def test_messages_have_the_form_that_openai_takes(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["BuildContext"] = answer(
        text="",
        messages=[
            {"role": 1, "text": "You help."},
            {"role": 2, "text": "# Memory", "name": "memory"},
            {"role": 2, "text": "hello", "name": "Ana María", "seq": 4},
            {"role": 3, "tool_calls": [{"id": "c", "name": "f", "arguments": "{}"}], "seq": 5},
            {"role": 4, "text": "done", "tool_call_id": "c", "name": "f", "seq": 6},
        ],
    )
    context = await client.build_context("tea", format=ContextFormat.MESSAGES)
    assert context.messages[3].role is Role.ASSISTANT
    assert context.openai_messages() == [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "# Memory", "name": "memory"},
        {"role": "user", "content": "hello"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "done", "tool_call_id": "c"},
    ]


def test_the_blocking_client_builds_contexts_too(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.answers["BuildContext"] = answer()
    assert blocking_client.build_context("tea").text == "# Memory"
    fake.failures["BuildContext"].append(Failure(grpc.StatusCode.INVALID_ARGUMENT, "max_tokens: is too small"))
    with pytest.raises(InvalidArgument, match="too small"):
        blocking_client.build_context("tea", max_tokens=1)
