"""A provider that is away, or wants to be asked in another way: nothing is lost, and nobody is asked in vain."""

from __future__ import annotations

import email.utils
import time
from typing import Any

import pytest

from memsidecar.adapters.openai_models import CircuitBreaker
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.ports.extraction import Declined, Extracted, Turn
from tests.adapters.openai_models.claims_said import OSLO, said
from tests.adapters.openai_models.conftest import SECRET, MakeExtractor
from tests.doubles.chat_server import ChatServer, Reply, refusal, turns_shown

RIGHT = Reply({"claims": [said()]})


@pytest.mark.parametrize(
    "failure",
    [
        Reply(status=429),
        Reply(status=500),
        Reply(status=503),
        Reply(body=b"<html>a gateway's page</html>"),
        Reply(body=b""),
        Reply(body=b"{}"),
        Reply(body=b'{"error": {"message": "upstream failed"}}'),
        Reply(body=b"[" * 10_000),
        Reply(body=b'{"choices": 7}'),
        Reply(body=b'{"choices": [7]}'),
        Reply(body=b'{"choices": {"0": 1}}'),
        Reply(body=b" " * 300_000),
        Reply(body=b"\xff\xfe"),
    ],
    ids=range(13),
)
async def test_a_failure_that_passes_is_tried_again(
    extractor: MakeExtractor, chat: ChatServer, waited: list[float], failure: Reply
) -> None:
    chat.replies.extend([failure, failure, RIGHT])
    model = extractor()
    (extracted,) = await model.extract([Turn(OSLO)])
    assert len(extracted.claims) == 1
    assert waited == [0.5, 1.0]
    assert (model.usage.calls, model.usage.retries) == (3, 2)
    chat.replies.extend([failure] * 3)
    with pytest.raises(ModelUnavailable):
        await model.extract([Turn(OSLO)])


async def test_retry_after_is_obeyed(extractor: MakeExtractor, chat: ChatServer, waited: list[float]) -> None:
    date = email.utils.formatdate(time.time() - 60, usegmt=True)
    headers = [{"retry-after": value} for value in ("3", date)]
    chat.replies.extend([*(Reply(status=429, headers=each) for each in headers), RIGHT])
    await extractor().extract([Turn(OSLO)])
    assert waited == [3.0, 0.0]


@pytest.mark.parametrize("value", ["inf", "nan", "1e999", "soon", "Mon, 99 Foo 99999 99:99:99 GMT", "-5", ""])
async def test_a_retry_after_that_means_nothing_is_ignored(
    extractor: MakeExtractor, chat: ChatServer, waited: list[float], value: str
) -> None:
    chat.replies.extend([Reply(status=503, headers={"retry-after": value}), RIGHT])
    await extractor().extract([Turn(OSLO)])
    assert waited in ([0.5], [0.0])


async def test_a_long_retry_after_is_the_jobs_to_wait(
    extractor: MakeExtractor, chat: ChatServer, waited: list[float]
) -> None:
    chat.replies.append(Reply(status=429, headers={"retry-after": "60"}))
    with pytest.raises(ModelUnavailable, match="fewer requests") as raised:
        await extractor().extract([Turn(OSLO)])
    assert (raised.value.retry_after, waited, len(chat.requests)) == (60, [], 1)


async def test_a_server_that_is_silent_times_out(extractor: MakeExtractor, chat: ChatServer) -> None:
    chat.answer = lambda request: Reply(never=True)
    with pytest.raises(ModelUnavailable, match="in time"):
        await extractor(timeout=0.05, attempts=2).extract([Turn(OSLO)])
    assert len(chat.requests) == 2


async def test_a_server_that_is_not_there_is_unavailable(extractor: MakeExtractor) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await extractor(base_url="http://127.0.0.1:9/v1").extract([Turn(OSLO)])


@pytest.mark.parametrize(
    ("status", "fix"), [(401, "extraction.api_key"), (403, "extraction.api_key"), (404, "extraction.model")]
)
async def test_what_somebody_must_repair_is_not_tried_again(
    extractor: MakeExtractor, chat: ChatServer, status: int, fix: str
) -> None:
    chat.replies.append(refusal(status, f"bad key {SECRET} for {OSLO}"))
    with pytest.raises(ModelUnavailable, match=fix) as raised:
        await extractor().extract([Turn(OSLO)])
    assert SECRET not in str(raised.value)
    assert "Oslo" not in str(raised.value)
    assert len(chat.requests) == 1


async def test_a_server_that_keeps_failing_is_left_alone_and_tried_again(
    extractor: MakeExtractor, chat: ChatServer
) -> None:
    now = [0.0]
    model = extractor(CircuitBreaker(3, 10, clock=lambda: now[0]))
    chat.replies.extend([Reply(status=500)] * 3)
    with pytest.raises(ModelUnavailable):
        await model.extract([Turn(OSLO)])
    with pytest.raises(ModelUnavailable, match="left alone") as refused:
        await model.extract([Turn(OSLO)])
    assert (refused.value.retry_after, len(chat.requests)) == (10, 3)
    now[0] = 10
    assert await model.extract([Turn(OSLO)]) == [Extracted()]


async def test_an_outage_in_the_middle_leaves_every_turn_to_be_read_again(
    extractor: MakeExtractor, chat: ChatServer
) -> None:
    chat.replies.extend([RIGHT, *[Reply(status=500)] * 3])
    model = extractor(max_turns=1)
    with pytest.raises(ModelUnavailable):
        await model.extract([Turn(OSLO), Turn(OSLO)])
    assert (model.usage.turns, model.usage.claims, model.usage.calls) == (0, 0, 4)
    chat.answer = lambda request: RIGHT
    assert [len(each.claims) for each in await model.extract([Turn(OSLO), Turn(OSLO)])] == [1, 1]


class Particular:
    """A server that knows only some of what can be in a request, and says so in its own words."""

    def __init__(self, **refuses: str) -> None:
        self.refuses = refuses

    def __call__(self, request: dict[str, Any]) -> Reply:
        form = request.get("response_format", {}).get("type", "plain")
        for name, message in self.refuses.items():
            if name in request or name == form:
                return refusal(400, message)
        return RIGHT


@pytest.mark.parametrize(
    ("server", "form", "keys"),
    [
        (Particular(), "json_schema", {"max_tokens", "temperature"}),
        (Particular(json_schema="'json_schema' is not supported"), "json_object", {"max_tokens", "temperature"}),
        (
            Particular(json_schema="unknown field", json_object="response_format is unknown"),
            "plain",
            {"max_tokens", "temperature"},
        ),
        (
            Particular(
                max_tokens="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
                temperature="Unsupported value: 'temperature' does not support 0 with this model.",
            ),
            "json_schema",
            {"max_completion_tokens"},
        ),
        (
            Particular(max_tokens="max_tokens is unknown", max_completion_tokens="max_completion_tokens is unknown"),
            "json_schema",
            {"temperature"},
        ),
        (
            Particular(
                max_tokens="'max_tokens' is too large: 4096. This model's maximum context length is 2048 tokens"
            ),
            "json_schema",
            {"temperature"},
        ),
    ],
    ids=range(6),
)
async def test_a_server_is_asked_in_the_way_that_it_understands_from_then_on(
    extractor: MakeExtractor, chat: ChatServer, server: Particular, form: str, keys: set[str]
) -> None:
    chat.answer = server
    model = extractor()
    (extracted,) = await model.extract([Turn(OSLO)])
    assert len(extracted.claims) == 1
    asked = len(chat.requests)
    assert asked <= 3
    await model.extract([Turn(OSLO)])
    assert len(chat.requests) == asked + 1
    last = chat.requests[-1]
    assert last.get("response_format", {}).get("type", "plain") == form
    assert {"max_tokens", "max_completion_tokens", "temperature"} & set(last) == keys


async def test_a_server_that_refuses_everything_is_unavailable_and_no_turn_is_to_blame(
    extractor: MakeExtractor, chat: ChatServer
) -> None:
    chat.answer = lambda request: refusal(400, "no such model")
    with pytest.raises(ModelUnavailable, match=r"extraction\.model"):
        await extractor().extract([Turn(OSLO)] * 8)
    # Each form for the turns, and for a harmless one.
    assert len(chat.requests) == 6


@pytest.mark.parametrize("worked_before", [True, False])
async def test_a_turn_that_a_server_does_not_take_is_declined_and_changes_nothing_for_others(
    extractor: MakeExtractor, chat: ChatServer, worked_before: bool
) -> None:
    def answer(request: dict[str, Any]) -> Reply:
        shown = turns_shown(request)
        if any("poison" in each["text"] for each in shown):
            return refusal(400, "bad request")
        return Reply({"claims": [said(turn=each["turn"]) for each in shown if "Oslo" in each["text"]]})

    chat.answer = answer
    model = extractor()
    if worked_before:
        await model.extract([Turn(OSLO)])
    extracted = await model.extract([Turn(OSLO), Turn("poison"), Turn(OSLO)])
    assert [len(each.claims) for each in extracted] == [1, 0, 1]
    assert extracted[1].rejected == (Declined.REFUSED,)
    assert chat.requests[-1]["response_format"]["type"] == "json_schema"
