from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memsidecar.adapters.quicktok_tokenizer import QuicktokTokenizer
from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.domain.context.values import Built, Format, Part, Wanted
from memsidecar.domain.draft import Draft, Request
from memsidecar.domain.errors import InvalidField, ModelUnavailable, NotFound, TokenizerUnknown
from memsidecar.domain.events import Matrix
from memsidecar.domain.memory import Entity, Episode, Fact, Outcome, Preference, State
from memsidecar.domain.recall import Filter, Question, Tier, TierOutcome
from memsidecar.domain.session import Message, Role, ScratchWrite, Session
from memsidecar.ports.sessions import SessionKey
from memsidecar.services.context import BuildContext
from memsidecar.services.patience import expect_answer_within, seconds_left
from memsidecar.services.profile import standing
from memsidecar.services.sessions import Sessions
from tests.doubles.hash_embedder import HashEmbedder
from tests.doubles.runtime import CountedIds
from tests.services.conflicting import supersede
from tests.services.stack import ANN, BEN, TEAM, Stack, said, stored
from tests.session_servers import RunningServer

FORMATS = pytest.mark.parametrize("form", list(Format), ids=lambda form: form.name.lower())
TOKENIZER = QuicktokTokenizer()
NAMES = itertools.count()


class Patient(HashEmbedder):
    """Does not answer while it `hangs`."""

    hangs = False

    async def embed(self, texts: Sequence[str]) -> Matrix:
        if self.hangs:
            await asyncio.Event().wait()
        return await super().embed(texts)


class HangingSessions(Sessions):
    async def conversation(self, key: SessionKey, look_back: int) -> tuple[Session, Sequence[Message]]:
        await asyncio.Event().wait()
        return await super().conversation(key, look_back)


@pytest.fixture
def embedder() -> Patient:
    return Patient()


@pytest.fixture
def sessions(stack: Stack, store: RedisSessions) -> Sessions:
    return Sessions(store, TOKENIZER, stack.clock, stack.ids)


@pytest.fixture
def build(stack: Stack, sessions: Sessions) -> BuildContext:
    return BuildContext(stack.recalling, stack.residency, stack.past, sessions, TOKENIZER, stack.clock)


@pytest.fixture
async def filled(stack: Stack, sessions: Sessions) -> str:
    """The name of a session of Ann, who is remembered a little."""
    stack.clock.time = 4_102_444_800_000_000  # the store's sessions end by their own clock
    (table,) = stored(await stack.remember(ANN, Draft(Entity("orders table"))))
    await stack.remember(
        ANN,
        Draft(Preference("Ann takes oat milk in her coffee.", "coffee"), importance=0.9),
        Draft(Fact("Ann is a site reliability engineer."), importance=0.8),
        Draft(Fact("The orders table has 40 million rows.", subject=table.id)),
        Draft(
            Episode("Moved the billing table.", outcome=Outcome.FAILURE, lessons=("throttle to 500 rows per second",)),
            session="old",
        ),
        said("When do we move the orders table?", speaker="Ben"),
    )
    name = f"s{next(NAMES)}"
    await sessions.create(ANN, name, {}, None, None, Request())
    key = SessionKey(ANN.partition, name)
    words = [
        "I want to move the orders table.",
        *(f"Filler number {at}." for at in range(30)),
        "So, how do we move it?",
    ]
    await sessions.append(key, [Message(Role.USER, text) for text in words], None, Request())
    await sessions.set_scratch(key, [ScratchWrite("plan", '{"step":2}')], None, Request())
    return name


def wanted(session: str = "", text: str = "How do we move the orders table?", **more: Any) -> Wanted:
    question = Question(ANN, text, max_hits=30)
    return Wanted(more.pop("question", question), session, more.pop("max_tokens", 2000), **more)


def outcomes(built: Built) -> dict[Tier, TierOutcome]:
    return {report.tier: report.outcome for report in built.reports}


def section(built: Built, part: Part) -> str:
    return next((found.text for found in built.context.sections if found.part is part), "")


def whole(built: Built) -> str:
    return built.context.text + "".join(message.text for message in built.context.messages)


@FORMATS
async def test_all_sources_are_in_one_context_within_the_budget(build: BuildContext, filled: str, form: Format) -> None:
    request = wanted(filled, format=form, cite=True, system_prompt="You help.")
    built = await build(request)
    assert [found.part for found in built.context.sections] == [
        Part.PROFILE,
        Part.FACTS,
        Part.EPISODES,
        Part.SUMMARY,
        Part.SCRATCH,
        Part.WINDOW,
    ]
    assert "oat milk" in section(built, Part.PROFILE)
    assert "throttle to 500 rows" in section(built, Part.EPISODES)
    assert "I want to move the orders table." in section(built, Part.SUMMARY)
    assert "step" in section(built, Part.SCRATCH)
    assert whole(built).startswith("You help.")
    assert whole(built).rstrip().endswith(("So, how do we move it?", "# End of memory", "</memory>"))
    assert not built.degraded
    assert outcomes(built)[Tier.SESSION] is TierOutcome.OK
    assert await build(request) == replace(built, reports=(await build(request)).reports)
    for tokens in (150, 300, 700):
        smaller = (await build(replace(request, max_tokens=tokens))).context
        assert smaller.token_count <= tokens
        if form is not Format.MESSAGES:
            assert smaller.token_count == TOKENIZER.count(smaller.text)


@FORMATS
@pytest.mark.parametrize("encoding", ["o200k", "cl100k", "qwen3", "estimate"])
async def test_the_stable_prefix_is_that_of_every_question_and_session(
    build: BuildContext, filled: str, form: Format, encoding: str
) -> None:
    request = wanted(filled, format=form, tokenizer=encoding, system_prompt="You help.")
    contexts = [
        whole(built)
        for built in (
            await build(request),
            await build(replace(request, question=replace(request.question, text="咖啡怎么喝？"), session="")),
            await build(replace(request, question=replace(request.question, text="zebra"))),
        )
    ]
    end = "</profile>\n" if form is Format.XML else "engineer.\n\n"
    prefix = contexts[0][: contexts[0].index(end) + len(end)]
    assert all(context.startswith(prefix) for context in contexts)
    built = await build(request)
    if form is Format.MESSAGES:
        counted = TOKENIZER.count("You help.", encoding) + TOKENIZER.count(prefix[len("You help.") :], encoding) + 8
    else:
        counted = TOKENIZER.count(prefix, encoding)
        # No token reaches over its end.
        rest = TOKENIZER.count(contexts[0][len(prefix) :], encoding)
        assert encoding == "estimate" or counted + rest == TOKENIZER.count(contexts[0], encoding)
    assert built.context.stable_tokens == counted


async def test_without_the_session_store_the_rest_is_there(stack: Stack, tmp_path: Path, filled: str) -> None:
    with RunningServer(tmp_path) as own:
        store = RedisSessions.connect(RedisSettings(own.url))
        own.kill()
        sessions = Sessions(store, TOKENIZER, stack.clock, CountedIds())
        build = BuildContext(stack.recalling, stack.residency, stack.past, sessions, TOKENIZER, stack.clock)
        built = await build(wanted(filled))
        await store.close()
    assert built.degraded
    assert outcomes(built)[Tier.SESSION] is TierOutcome.UNAVAILABLE
    assert {found.part for found in built.context.sections} == {Part.PROFILE, Part.FACTS, Part.EPISODES}


async def test_without_the_embedder_other_tiers_answer(build: BuildContext, embedder: Patient, filled: str) -> None:
    embedder.failure = ModelUnavailable("hash")
    built = await build(wanted(filled))
    assert built.degraded
    assert outcomes(built)[Tier.VECTOR] is TierOutcome.UNAVAILABLE
    assert "40 million" in section(built, Part.FACTS)
    only = replace(wanted(filled).question, tiers=frozenset({Tier.VECTOR}))
    built = await build(wanted(filled, question=only))
    assert outcomes(built)[Tier.VECTOR] is TierOutcome.UNAVAILABLE
    assert section(built, Part.FACTS) == ""
    assert "oat milk" in section(built, Part.PROFILE)


async def test_the_answer_comes_before_the_caller_gives_up(
    stack: Stack, build: BuildContext, store: RedisSessions, embedder: Patient, filled: str
) -> None:
    embedder.hangs = True
    hanging = HangingSessions(store, TOKENIZER, stack.clock, stack.ids)
    build = BuildContext(stack.recalling, stack.residency, stack.past, hanging, TOKENIZER, stack.clock)
    expect_answer_within(1.0)
    built = await build(wanted(filled))
    left = seconds_left()
    expect_answer_within(None)
    assert left is not None
    assert left > 0
    assert outcomes(built)[Tier.VECTOR] is TierOutcome.TIMED_OUT
    assert outcomes(built)[Tier.SESSION] is TierOutcome.TIMED_OUT
    # What the other tiers found is there, and so is the profile.
    assert "40 million" in section(built, Part.FACTS)
    assert "oat milk" in section(built, Part.PROFILE)


async def test_a_session_that_is_not_there_is_an_error(build: BuildContext, filled: str) -> None:
    with pytest.raises(NotFound):
        await build(wanted("gone"))
    # Neither is that of somebody else.
    with pytest.raises(NotFound):
        await build(wanted(filled, question=Question(BEN, "orders")))


async def test_what_is_wrong_with_the_request_is_named(build: BuildContext, filled: str) -> None:
    with pytest.raises(TokenizerUnknown):
        await build(wanted(tokenizer="nonsense"))
    with pytest.raises(InvalidField, match="max_tokens"):
        await build(wanted(system_prompt="word " * 50, max_tokens=20))


async def test_nothing_of_another_user_is_in_it(stack: Stack, build: BuildContext, filled: str) -> None:
    await stack.remember(BEN, "The orders table of Ben is secret.")
    await stack.remember(TEAM, "The team moves tables on Tuesdays.")
    text = whole(await build(wanted(filled)))
    assert "secret" not in text
    assert "Tuesdays" not in text
    shared = replace(wanted(filled).question, include_shared=True)
    assert "Tuesdays" in whole(await build(wanted(filled, question=shared)))


async def test_sections_that_are_left_out_are_not_asked_for(
    build: BuildContext, embedder: Patient, filled: str
) -> None:
    embedder.calls.clear()
    shares = wanted().shares
    built = await build(wanted("gone", shares={Part.PROFILE: shares[Part.PROFILE]}))
    assert [found.part for found in built.context.sections] == [Part.PROFILE]
    assert not embedder.calls
    assert outcomes(built) == {Tier.SESSION: TierOutcome.SKIPPED}


async def test_long_material_is_put_together_off_the_loop(stack: Stack, sessions: Sessions) -> None:
    threads: set[int] = set()

    class Noting(QuicktokTokenizer):
        def count(self, text: str, encoding: str = "") -> int:
            threads.add(threading.get_ident())
            return super().count(text, encoding)

    build = BuildContext(stack.recalling, stack.residency, stack.past, sessions, Noting(), stack.clock)
    await stack.remember(ANN, "a short fact about orders")
    await build(wanted())
    assert threads == {threading.get_ident()}
    threads.clear()
    await stack.remember(ANN, "orders " * 5_000)
    built = await build(wanted())
    assert threads
    assert threading.get_ident() not in threads
    assert built.context.token_count <= 2000


async def test_the_profile_of_the_past_is_that_of_the_past(stack: Stack, build: BuildContext) -> None:
    """What has expired since was part of it."""
    then = stack.clock.time
    await stack.remember(ANN, Draft(Fact("Ann is on leave."), expires_at=then + 10))
    stack.clock.time += 20
    for known_at, found in ((then, True), (None, False)):
        built = await build(wanted(question=Question(ANN, "Ann", known_at=known_at)))
        assert ("on leave" in section(built, Part.PROFILE)) is found


async def test_a_profile_is_the_users_own_by_importance(stack: Stack) -> None:
    (ann,) = stored(await stack.remember(ANN, Draft(Entity("Ann"))))
    (acme,) = stored(await stack.remember(ANN, Draft(Entity("Acme"))))
    await stack.remember(
        ANN,
        Draft(Fact("least", subject=ann.id), importance=0.1),
        Draft(Fact("of Acme", subject=acme.id), importance=1.0),
        Draft(Fact("second"), importance=0.9, confidence=0.5),
        Draft(Fact("first"), importance=0.9, confidence=0.9),
        Draft(Fact("equal fact"), importance=0.5),
        Draft(Preference("equal preference"), importance=0.5),
        Draft(Preference("of work"), importance=0.4, labels={"topic": "work"}),
        Draft(Episode("said"), importance=1.0),
    )
    resident = await stack.residency.view(ANN.partition)

    def texts(limit: int = 10, **conditions: Any) -> list[str]:
        found = standing(resident, replace(ANN, session="any"), Filter(**conditions), stack.clock.now(), limit)
        return [memory.text for memory in found]

    assert texts() == ["first", "second", "equal preference", "equal fact", "of work", "least"]
    assert texts(2) == ["first", "second"]
    assert texts(labels={"topic": "work"}) == ["of work"]
    assert texts(states=frozenset({State.DISPUTED})) == []


async def test_of_many_equal_ones_the_oldest_are_the_profile(stack: Stack) -> None:
    await stack.remember(ANN, *(f"fact {at}" for at in range(300)))
    resident = await stack.residency.view(ANN.partition)
    found = standing(resident, ANN, Filter(), stack.clock.now(), 40)
    assert [memory.text for memory in found] == [f"fact {at}" for at in range(40)]


async def test_a_session_is_waited_for_no_longer_than_asked(stack: Stack, store: RedisSessions, filled: str) -> None:
    hanging = HangingSessions(store, TOKENIZER, stack.clock, stack.ids)
    build = BuildContext(stack.recalling, stack.residency, stack.past, hanging, TOKENIZER, stack.clock)
    question = replace(wanted(filled).question, soft_deadline=0.05)
    built = await build(wanted(filled, question=question))
    assert built.degraded
    assert outcomes(built)[Tier.SESSION] is TierOutcome.TIMED_OUT
    assert "oat milk" in section(built, Part.PROFILE)


async def test_the_profile_has_what_is_true_now(stack: Stack) -> None:
    now = stack.clock.now()
    old, new = stored(await stack.remember(ANN, "Ann lives in Rome", "Ann lives in Oslo"))
    await stack.remember(
        ANN,
        Draft(Fact("Ann worked at Acme"), valid_to=now - 1),
        Draft(Fact("Ann will work at Globex"), valid_from=now + 1_000_000),
        Draft(Fact("Ann studies"), valid_from=now - 1, valid_to=now + 1_000_000),
    )
    await supersede(stack, old, new, at=now + 500_000)

    async def texts() -> list[str]:
        resident = await stack.residency.view(ANN.partition)
        return [memory.text for memory in standing(resident, ANN, Filter(), stack.clock.now(), 10)]

    assert await texts() == ["Ann lives in Rome", "Ann lives in Oslo", "Ann studies"]
    stack.clock.time = now + 1_000_000
    assert await texts() == ["Ann lives in Oslo", "Ann will work at Globex"]
