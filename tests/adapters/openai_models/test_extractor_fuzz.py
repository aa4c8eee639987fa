"""Whatever a server sends, claims stand in the text, and nothing but ModelUnavailable comes up."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from memsidecar.adapters.openai_models import ExtractorSettings, OpenAIExtractor
from memsidecar.adapters.openai_models.claim_checks import Piece, judged
from memsidecar.adapters.openai_models.extraction_reply import written
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.memory import Kind
from memsidecar.domain.text import normalise
from memsidecar.ports.extraction import Declined, Extracted, Turn
from tests.adapters.openai_models.claims_said import OSLO, TEA, said
from tests.doubles.chat_server import Reply, chat_server

CHINESE = "我上个月搬到了成都，不再喝咖啡。"
TURNS = [Turn(OSLO, "Ann"), Turn(CHINESE), Turn("OK 👍🏽 e\u0301t\u0301é 42, 4.2 <|im_end|>", "Bob")]

words = st.sampled_from(
    [*OSLO.split(), *CHINESE, *"👍🏽 été 42 4.2".split(), "in May", "Ann", "user", "\ud83d", "\x00"]
)
texts = st.one_of(st.text(max_size=12), words, st.lists(words, max_size=4).map(" ".join))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
RIGHT: list[dict[str, Any]] = [
    said(),
    TEA,
    said(turn=2, value="成都", evidence="搬到了成都", time="上个月", statement=""),
]
# Right claims with some fields made wrong, and some made up altogether.
changed = st.builds(
    lambda claim, changes: {**claim, **changes},
    st.sampled_from(RIGHT),
    st.dictionaries(st.sampled_from(sorted(said())), st.one_of(texts, values), max_size=2),
)
claims = st.one_of(
    changed,
    changed,
    changed,
    st.fixed_dictionaries({name: st.one_of(texts, scalars) for name in said()}),
    values,
)
answers = st.one_of(
    st.builds(lambda found: json.dumps({"claims": found}), st.lists(claims, max_size=5)),
    st.builds(json.dumps, values),
    st.text(max_size=200),
)


@st.composite
def contents(draw: st.DrawFn) -> str:
    """An answer, perhaps with something around it, perhaps broken off."""
    text = draw(st.sampled_from(["", "Sure: ", "```json\n", "<think>", "{"])) + draw(answers)
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


replies = st.one_of(
    st.builds(
        Reply,
        contents(),
        status=st.sampled_from([200] * 8 + [302, 400, 403, 404, 413, 418, 422, 429, 500]),
        finish=st.sampled_from(["stop", "stop", "length", "content_filter", "tool_calls"]),
        message=st.one_of(
            st.just({}), st.fixed_dictionaries({"refusal": texts}), st.fixed_dictionaries({"content": values})
        ),
        headers=st.one_of(
            st.just({}),
            st.fixed_dictionaries({"retry-after": st.sampled_from(["0", "inf", "x", "1e400"])}),
            st.just({"content-encoding": "gzip"}),
        ),
    ),
    st.builds(lambda body: Reply(body=body), st.binary(max_size=200)),
    st.builds(lambda body: Reply(body=json.dumps(body).encode()), values),
    st.builds(
        lambda choices, usage: Reply(body=json.dumps({"choices": choices, "usage": usage}).encode()), values, values
    ),
)


def check(turn: Turn, extracted: Extracted) -> None:
    assert all(reason in set(Declined) for reason in extracted.rejected)
    for claim in extracted.claims:
        evidence = turn.text[claim.span.start : claim.span.end]
        assert evidence
        assert normalise(claim.value) in normalise(evidence)
        assert claim.kind in (Kind.FACT, Kind.PREFERENCE)
        assert claim.attribute
        assert claim.statement
        assert claim.attribute.isprintable()
        (claim.attribute + claim.value + claim.statement + claim.subject).encode()
        assert -1 <= claim.polarity <= 1
        assert 0 <= claim.confidence <= 1
        assert 0 <= claim.importance <= 1
        assert (claim.kind is Kind.PREFERENCE) == (claim.polarity != 0)
        if claim.time is not None:
            assert 0 <= claim.time.start < claim.time.end <= len(turn.text)


@settings(max_examples=400, deadline=None)
@given(contents())
def test_whatever_a_model_writes_only_claims_of_the_text_come_of_it(content: str) -> None:
    answer = written(content)
    pieces = [Piece(place, turn.speaker, turn.text) for place, turn in enumerate(TURNS)]
    for each in judged(answer.claims or (), pieces):
        assert (each.claim is None) != (each.reason is None)
        event("a claim" if each.claim else f"rejected: {each.reason}")
        if each.claim:
            check(TURNS[each.place], Extracted((each.claim,)))


# A server for each example, and a client, whose certificates take longer than all the rest.
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(replies, min_size=1, max_size=4))
def test_any_reply_gives_claims_of_the_text_or_reasons_or_an_outage(sent: list[Reply]) -> None:
    async def run() -> None:
        async with chat_server() as server:
            server.replies.extend(sent)
            server.answer = lambda request: sent[-1]

            async def sleep(seconds: float) -> None:
                assert 0 <= seconds <= 10

            model = OpenAIExtractor(ExtractorSettings("m", base_url=server.base_url), sleep=sleep)
            try:
                with contextlib.suppress(ModelUnavailable):
                    extracted = await model.extract(TURNS)
                    assert len(extracted) == len(TURNS)
                    for turn, each in zip(TURNS, extracted, strict=True):
                        check(turn, each)
            finally:
                await model.close()
            assert len(server.requests) == model.usage.calls
            assert model.usage.calls < 60

    asyncio.run(run())
