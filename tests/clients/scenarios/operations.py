"""What the steps of a scenario do with the Python client, on memories, sessions and knowledge."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from memsidecar_client import (
    ConflictPolicy,
    ConversationTurn,
    Entity,
    Episode,
    Fact,
    FeedbackKind,
    Filter,
    Memory,
    MemoryKind,
    MemoryOrder,
    Message,
    Preference,
    RecallDone,
    Remembered,
    Role,
    Session,
    Tier,
    Written,
)

from tests.clients.scenarios.playing import Arguments, Operation, Playing, Result


def body_of(given: Arguments) -> Fact | Entity | Preference:
    if fact := given.get("fact"):
        return Fact(fact["statement"], fact.get("subject", ""), fact["predicate"], object_text=fact["text"])
    if name := given.get("entity"):
        return Entity(name)
    return Preference(given.get("statement", ""))


def policy_of(given: Arguments) -> ConflictPolicy:
    return ConflictPolicy[given.get("conflict_policy", "UNSPECIFIED")]


def of_memory(memory: Memory, revision: str = "") -> Result:
    return {
        "name": memory.name,
        "etag": memory.etag,
        "state": memory.state.name,
        "text": memory.text,
        "revision": revision,
    }


def of_written(written: Written) -> Result:
    return of_memory(written.memory, written.revision)


async def remember(playing: Playing, given: Arguments) -> Result:
    skip, request_id = given.get("skip_extraction", False), given.get("request_id", "")
    remembered: Remembered
    if "turns" in given:
        turns = [ConversationTurn(turn["text"], turn["speaker"]) for turn in given["turns"]]
        remembered = await playing.client.remember_conversation(turns, skip_extraction=skip, request_id=request_id)
    else:
        speaker = given.get("speaker", "")
        remembered = await playing.client.remember(
            given["text"],
            speaker=speaker,
            request_id=request_id,
            skip_extraction=skip,
            conflict_policy=policy_of(given),
        )
    return {
        "name": remembered.outcomes[0].memory.name,
        "texts": [outcome.memory.text for outcome in remembered.outcomes],
        "actions": [outcome.action.name for outcome in remembered.outcomes],
        "revision": remembered.revision,
        "job": "".join(remembered.stages.jobs),
    }


async def remember_many(playing: Playing, given: Arguments) -> Result:
    many = await playing.client.remember_many(given["texts"] * given.get("repeat", 1))
    failed = [result for result in many.results if result.error is not None]
    return {
        "count": len(many.results),
        "failed": [result.index for result in failed],
        "reasons": [result.error.reason for result in failed if result.error],
    }


async def create_memory(playing: Playing, given: Arguments) -> Result:
    return of_written(
        await playing.client.create_memory(
            body_of(given), memory_id=given.get("id", ""), conflict_policy=policy_of(given)
        )
    )


async def get_memory(playing: Playing, given: Arguments) -> Result:
    return of_memory(await playing.client.get_memory(given["name"]))


async def batch_get(playing: Playing, given: Arguments) -> Result:
    return {"texts": [memory.text for memory in await playing.client.get_memories(given["names"])]}


async def list_memories(playing: Playing, given: Arguments) -> Result:
    pages = playing.client.list_memories(
        Filter(kinds=(MemoryKind[given["kind"]],)) if "kind" in given else None,
        order=MemoryOrder.NEWEST_FIRST if given.get("newest_first") else MemoryOrder.UNSPECIFIED,
        page_size=given.get("page_size", 0),
    )
    memories = [memory async for memory in pages]
    texts = [memory.text for memory in memories]
    outcomes = [memory.body.outcome.name for memory in memories if isinstance(memory.body, Episode)]
    return {"texts": texts, "mentions": texts, "outcomes": outcomes}


async def update_memory(playing: Playing, given: Arguments) -> Result:
    memory = Memory(body_of(given), name=given["name"], etag=given.get("etag", ""))
    return of_written(await playing.client.update_memory(memory, fields=["preference.statement"]))


async def delete_memory(playing: Playing, given: Arguments) -> Result:
    deleted = await playing.client.delete_memory(given["name"], purge=given.get("purge", False))
    return {"state": "PURGED"} if deleted.memory is None else of_memory(deleted.memory, deleted.revision)


async def undelete_memory(playing: Playing, given: Arguments) -> Result:
    return of_written(await playing.client.undelete_memory(given["name"]))


async def history(playing: Playing, given: Arguments) -> Result:
    return {"changes": [each.change.name async for each in playing.client.memory_history(given["name"])]}


async def server_info(playing: Playing, given: Arguments) -> Result:
    info = await playing.client.ready()
    return {"default_namespace": info.default_namespace, "max_batch_items": info.max_batch_items}


async def recall(playing: Playing, given: Arguments) -> Result:
    found = await playing.client.recall(
        given["query"],
        embedding=given.get("embedding"),
        tiers=[Tier[given["tier"]]] if "tier" in given else (),
        max_hits=given.get("max_hits", 0),
        min_revision=given.get("min_revision", ""),
    )
    return {"texts": [hit.memory.text for hit in found.hits]}


async def recall_stream(playing: Playing, given: Arguments) -> Result:
    async with playing.client.recall_stream(
        given["query"], max_hits=given.get("max_hits", 0), min_revision=given.get("min_revision", "")
    ) as events:
        async for event in events:
            if isinstance(event, RecallDone):
                return {"texts": [hit.memory.text for hit in event.result.hits], "done": True}
            if given.get("leave"):
                break
    return {"done": False}


async def build_context(playing: Playing, given: Arguments) -> Result:
    return {"mentions": (await playing.client.build_context(given["query"], max_tokens=given["max_tokens"])).text}


async def feedback(playing: Playing, given: Arguments) -> Result:
    await playing.client.feedback({given["memory"]: FeedbackKind[given["kind"]]})
    return {}


def of_session(session: Session) -> Result:
    return {
        "name": session.name,
        "labels": dict(session.labels),
        "etag": session.etag,
        "message_count": session.message_count,
        "last_seq": session.last_seq,
        "ended": session.end_time is not None,
    }


async def create_session(playing: Playing, given: Arguments) -> Result:
    return of_session(await playing.client.session(given["session"]).create(labels=given.get("labels", {})))


async def get_session(playing: Playing, given: Arguments) -> Result:
    return of_session(await playing.client.session(given["session"]).get())


async def list_sessions(playing: Playing, given: Arguments) -> Result:
    return {"names": [session.name async for session in playing.client.list_sessions()]}


async def update_session(playing: Playing, given: Arguments) -> Result:
    session = playing.client.session(given["session"])
    return of_session(await session.update(labels=given["labels"], etag=given.get("etag", "")))


async def end_session(playing: Playing, given: Arguments) -> Result:
    session = playing.client.session(given["session"])
    if given.get("remember"):
        return of_session((await session.end_and_remember()).session)
    return of_session(await session.end())


async def delete_session(playing: Playing, given: Arguments) -> Result:
    await playing.client.session(given["session"]).delete()
    return {}


async def append(playing: Playing, given: Arguments) -> Result:
    longer = given.get("text_repeat", 1)
    told = given["messages"] * given.get("repeat", 1)
    messages = [Message(Role[message["role"]], message["text"] * longer) for message in told]
    expected: int | None = given.get("expected_last_seq")
    appended = await playing.client.session(given["session"]).append(messages, expected_last_seq=expected)
    return {"seqs": list(appended.seqs)}


async def messages(playing: Playing, given: Arguments) -> Result:
    pages = playing.client.session(given["session"]).messages(min_seq=given.get("min_seq", 0))
    return {"texts": [message.text async for message in pages]}


async def window(playing: Playing, given: Arguments) -> Result:
    found = await playing.client.session(given["session"]).window(
        max_tokens=given["max_tokens"], tokenizer=given.get("tokenizer", "")
    )
    return {
        "texts": [message.text for message in found.messages],
        "omitted": found.omitted_messages,
        "shortened": found.shortened,
    }


async def set_scratch(playing: Playing, given: Arguments) -> Result:
    values: Mapping[str, Any] = given["values"]
    entries = await playing.client.session(given["session"]).set_scratch(values)
    return {"keys": sorted(entry.key for entry in entries)}


async def get_scratch(playing: Playing, given: Arguments) -> Result:
    session = playing.client.session(given["session"])
    found = list((await session.get_scratch(given.get("keys", []))).values())
    if "prefix" in given:
        found += [entry async for entry in session.list_scratch(given["prefix"])]
    return {"values": {entry.key: entry.value for entry in found}}


async def delete_scratch(playing: Playing, given: Arguments) -> Result:
    return {"deleted": await playing.client.session(given["session"]).delete_scratch(given["keys"])}


OPERATIONS: Mapping[str, Operation] = {
    operation.__name__: operation
    for operation in itertools.chain(
        (remember, remember_many, create_memory, get_memory, batch_get, list_memories, update_memory, delete_memory),
        (undelete_memory, history, server_info, recall, recall_stream, build_context, feedback),
        (create_session, get_session, list_sessions, update_session, end_session, delete_session, append, messages),
        (window, set_scratch, get_scratch, delete_scratch),
    )
}
