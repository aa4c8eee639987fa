"""What is sent to the server, and what becomes of every kind of answer."""

from __future__ import annotations

import asyncio
import email.utils
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from memsidecar.adapters.openai_models import CircuitBreaker, OpenAIEmbedder, OpenAISettings
from memsidecar.domain.errors import ModelUnavailable
from tests.doubles.embedding_server import EmbeddingServer, Reply, embedding_server
from tests.doubles.hash_embedder import HashEmbedder

SECRET = "sk-very-secret-key"
Make = Callable[..., OpenAIEmbedder]


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server() as started:
        yield started


@pytest.fixture
def waits() -> list[float]:
    """The waits between tries; nothing really waits."""
    return []


@pytest.fixture
async def make(server: EmbeddingServer, waits: list[float]) -> AsyncIterator[Make]:
    made: list[OpenAIEmbedder] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    def build(breaker: CircuitBreaker | None = None, **changes: Any) -> OpenAIEmbedder:
        settings = OpenAISettings(**{"model": "m", "api_key": SECRET, "base_url": server.base_url, **changes})
        made.append(OpenAIEmbedder(settings, breaker=breaker, sleep=sleep, jitter=lambda: 1.0))
        return made[-1]

    yield build
    for embedder in made:
        await embedder.close()


async def rows_of(texts: list[str]) -> Any:
    return await HashEmbedder().embed(texts)


async def test_rows_are_placed_by_index_and_normalised(make: Make) -> None:
    texts = ["one thing", "another thing", "a third"]
    assert np.allclose(await make().embed(texts), await rows_of(texts), atol=1e-6)


@pytest.mark.parametrize("encoding", ["float", "base64"])
async def test_both_encodings_are_read(make: Make, server: EmbeddingServer, encoding: str) -> None:
    rows = await make(encoding=encoding).embed(["one", "two"])
    assert np.allclose(rows, await rows_of(["one", "two"]), atol=1e-6)
    assert server.requests[0]["encoding_format"] == encoding


async def test_dimensions_are_sent_only_when_configured(make: Make, server: EmbeddingServer) -> None:
    await make().embed(["a"])
    await make(dimensions=64).embed(["a"])
    assert "dimensions" not in server.requests[0]
    assert server.requests[1]["dimensions"] == 64
    assert make(dimensions=64).model != make().model


async def test_dimensions_are_those_of_the_settings_the_model_or_the_first_answer(make: Make) -> None:
    assert make(dimensions=8).dimensions == 8
    assert make(model="text-embedding-3-small").dimensions == 1536
    unknown = make()
    assert unknown.dimensions == 0
    await unknown.load()
    assert unknown.dimensions == 64


async def test_requests_keep_to_the_limits(make: Make, server: EmbeddingServer) -> None:
    embedder = make(max_batch=3, max_batch_chars=100, max_chars=60)
    texts = ["a", "b", "c", "d", "x" * 50, "y" * 50_000, "z" * 40, "e"]
    rows = await embedder.embed(texts)
    assert [[len(text) for text in request["input"]] for request in server.requests] == [
        [1, 1, 1],
        [1, 50],
        [60, 40],
        [1],
    ]
    assert np.allclose(rows, await rows_of([text[:60] for text in texts]), atol=1e-6)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_failure_that_passes_is_tried_again(
    make: Make, server: EmbeddingServer, waits: list[float], status: int
) -> None:
    server.replies.extend([Reply(status), Reply(status)])
    assert len(await make().embed(["a"])) == 1
    assert len(server.requests) == 3
    assert waits == [0.25, 0.5]


async def test_retry_after_is_obeyed(make: Make, server: EmbeddingServer, waits: list[float]) -> None:
    date = email.utils.formatdate(time.time() - 60, usegmt=True)
    server.replies.extend([Reply(429, headers={"retry-after": "3"}), Reply(503, headers={"retry-after": date})])
    await make().embed(["a"])
    assert waits == [3.0, 0.0]


async def test_a_long_retry_after_is_the_callers_to_wait(
    make: Make, server: EmbeddingServer, waits: list[float]
) -> None:
    server.replies.append(Reply(429, headers={"retry-after": "60"}))
    with pytest.raises(ModelUnavailable, match="fewer requests") as raised:
        await make().embed(["a"])
    assert raised.value.retry_after == 60
    assert waits == []
    assert len(server.requests) == 1


async def test_a_failure_that_stays_is_reported(make: Make, server: EmbeddingServer) -> None:
    server.replies.extend([Reply(500, {"error": {"message": f"{SECRET} a"}})] * 3)
    with pytest.raises(ModelUnavailable, match="HTTP 500") as raised:
        await make().embed(["a"])
    assert SECRET not in str(raised.value)


async def test_a_server_that_is_silent_times_out(make: Make, server: EmbeddingServer) -> None:
    server.replies.append(Reply(never=True))
    with pytest.raises(ModelUnavailable, match="in time"):
        await make(timeout=0.05, attempts=1).embed(["a"])


async def test_a_server_that_is_not_there_is_unavailable(make: Make) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await make(base_url="http://127.0.0.1:1/v1", attempts=2).embed(["a"])


@pytest.mark.parametrize(("status", "fix"), [(401, "embedding.api_key"), (404, "embedding.model")])
async def test_what_somebody_must_repair_is_not_tried_again(
    make: Make, server: EmbeddingServer, status: int, fix: str
) -> None:
    server.replies.append(Reply(status))
    with pytest.raises(ModelUnavailable, match=fix):
        await make().embed(["a"])
    assert len(server.requests) == 1


def numbered(*rows: tuple[Any, Any]) -> dict[str, Any]:
    return {"object": "list", "data": [{"index": index, "embedding": vector} for index, vector in rows]}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (numbered((0, [1, 0])), "1 rows for 2 texts"),
        (numbered((0, [1, 0]), (1, [1, 0]), (2, [1, 0])), "3 rows for 2 texts"),
        (numbered((0, [1, 0]), (0, [0, 1])), "does not number"),
        (numbered((0, [1, 0]), (2, [0, 1])), "does not number"),
        (numbered((0, [1, 0]), (None, [0, 1])), "does not number"),
        (numbered((0, [1, 0]), (1, [0, 1, 0])), "3 dimensions, not 2"),
        (numbered((0, [1, 0, 0]), (1, [0, 1, 0])), "3 dimensions, not 2"),
        (numbered((0, [1, 0]), (1, [float("nan"), 1])), "not finite"),
        (numbered((0, [1, 0]), (1, [1e300, 1])), "not finite"),
        (numbered((0, [1, 0]), (1, [None, 1])), "not finite"),
        (numbered((0, [1, 0]), (1, [0, 0])), "all zero"),
        (numbered((0, [1, 0]), (1, ["x", "y"])), "not a list of numbers"),
        (numbered((0, [1, 0]), (1, [])), "not a list of numbers"),
        (numbered((0, [1, 0]), (1, "*not base64*")), "not a list of numbers"),
        (numbered((0, [1, 0]), (1, 7)), "not a list of numbers"),
        ({"object": "list"}, "not a list of numbered embeddings"),
        ({"data": "text"}, "not a list of numbered embeddings"),
        ({"data": [{"embedding": [1, 0]}] * 2}, "not a list of numbered embeddings"),
        ("<html>a gateway's page</html>", "not a list of numbered embeddings"),
        ("", "not a list of numbered embeddings"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused(
    make: Make, server: EmbeddingServer, body: dict[str, Any] | str, problem: str
) -> None:
    server.replies.append(Reply(body=body))
    with pytest.raises(ModelUnavailable, match=problem):
        await make(dimensions=2).embed(["first", "second"])
    assert len(server.requests) == 1


async def test_another_size_than_the_first_answers_is_refused(make: Make, server: EmbeddingServer) -> None:
    embedder = make()
    await embedder.load()
    server.replies.append(Reply(body=numbered((0, [1, 0]))))
    with pytest.raises(ModelUnavailable, match="2 dimensions, not 64"):
        await embedder.embed(["a"])


async def test_the_text_that_the_server_refuses_is_named(make: Make, server: EmbeddingServer) -> None:
    server.refuse = lambda text: text == "bad"
    texts = [f"text {position}" for position in range(20)]
    texts[13] = "bad"
    embedder = make()
    with pytest.raises(ModelUnavailable, match="text 13 of 20") as raised:
        await embedder.embed(texts)
    assert raised.value.metadata["position"] == "13"
    assert "bad" not in str(raised.value)
    del texts[13]
    assert len(await embedder.embed(texts)) == 19


async def test_a_batch_that_is_too_large_as_a_whole_is_sent_in_halves(make: Make, server: EmbeddingServer) -> None:
    server.replies.append(Reply(413))
    texts = ["a", "b", "c"]
    assert np.allclose(await make().embed(texts), await rows_of(texts), atol=1e-6)


async def test_the_breaker_opens_and_closes(make: Make, server: EmbeddingServer) -> None:
    now = [0.0]
    embedder = make(breaker=CircuitBreaker(3, 10, clock=lambda: now[0]))
    server.replies.extend([Reply(500)] * 3)
    with pytest.raises(ModelUnavailable):
        await embedder.embed(["a"])
    with pytest.raises(ModelUnavailable, match="left alone") as refused:
        await embedder.embed(["a"])
    assert refused.value.retry_after == 10
    assert len(server.requests) == 3
    now[0] = 10
    assert len(await embedder.embed(["a"])) == 1
    assert len(await embedder.embed(["a"])) == 1


async def test_a_cancelled_call_stops_waiting(make: Make, server: EmbeddingServer) -> None:
    server.replies.append(Reply(never=True))
    embedder = make()
    call = asyncio.create_task(embedder.embed(["a"]))
    await server.received.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(await embedder.embed(["a"])) == 1


async def test_the_key_is_sent_but_never_shown_and_texts_are_never_logged(
    make: Make, server: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = make()
    server.replies.append(Reply(429))
    server.refuse = lambda text: text == "private memory"
    with pytest.raises(ModelUnavailable):
        await embedder.embed(["private memory"])
    assert server.authorizations[0] == f"Bearer {SECRET}"
    shown = caplog.text + repr(embedder) + repr(OpenAISettings(model="m", api_key=SECRET))
    assert "HTTP 429" in shown
    assert SECRET not in shown
    assert "private memory" not in shown


async def test_a_server_without_keys_needs_none(make: Make, server: EmbeddingServer) -> None:
    await make(api_key="").embed(["a"])
    assert server.authorizations == ["Bearer none"]


async def test_another_size_than_that_of_stored_vectors_is_refused_with_the_way_out(make: Make) -> None:
    expecting = make(model="unknown")
    expecting.expect(32)
    assert expecting.dimensions == 32
    with pytest.raises(ModelUnavailable, match=r"64 dimensions, not 32; set embedding\.dimensions to what it gives"):
        await expecting.embed(["a"])
