"""What the steps of a scenario do with the Python client, on conflicts, entities and jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memsidecar_client import ConflictState, Job, Memory, MemoryConflict

from tests.clients.scenarios.playing import Arguments, Operation, Playing, Result


def of_conflict(conflict: MemoryConflict, memories: Sequence[Memory]) -> Result:
    return {
        "name": conflict.name,
        "state": conflict.state.name,
        "rule": conflict.rule.name,
        "resolution": conflict.resolution.name,
        "winner": conflict.winner,
        "texts": [memory.text for memory in memories],
    }


async def list_conflicts(playing: Playing, given: Arguments) -> Result:
    states = [ConflictState[name] for name in given.get("states", [])]
    pages = playing.client.conflicts(states=states, page_size=given.get("page_size", 0))
    conflicts = [each async for each in pages]
    names = [each.name for each in conflicts]
    return {
        "states": [each.state.name for each in conflicts],
        "first": names[0] if names else "",
        "last": names[-1] if names else "",
    }


async def get_conflict(playing: Playing, given: Arguments) -> Result:
    found = await playing.client.get_conflict(given["name"])
    return of_conflict(found.conflict, found.memories)


async def resolve_conflict(playing: Playing, given: Arguments) -> Result:
    settled = await playing.client.resolve_conflict(
        given["name"],
        keep=given.get("keep", ""),
        answer=given.get("answer", ""),
        dismiss=given.get("dismiss", False),
        etag=given.get("etag", ""),
    )
    return of_conflict(settled.conflict, settled.memories)


async def undo_resolution(playing: Playing, given: Arguments) -> Result:
    settled = await playing.client.undo_resolution(given["name"])
    return of_conflict(settled.conflict, settled.memories)


async def slot_history(playing: Playing, given: Arguments) -> Result:
    return {"texts": [value.memory.text async for value in playing.client.slot_history(given["attribute"])]}


async def neighbors(playing: Playing, given: Arguments) -> Result:
    pages = playing.client.neighbors(
        given["memory"], max_depth=given.get("max_depth", 0), relations=given.get("relations", ())
    )
    return {"texts": [neighbor.memory.text async for neighbor in pages]}


async def merge_entities(playing: Playing, given: Arguments) -> Result:
    merged = await playing.client.merge_entities(given["target"], given["sources"])
    return {"text": merged.entity.text, "moved": merged.moved_memories}


async def undo_merge(playing: Playing, given: Arguments) -> Result:
    return {"moved": (await playing.client.undo_merge_entities(given["source"])).moved_memories}


def of_job(job: Job) -> Result:
    return {"name": job.name, "state": job.state.name, "ended": job.is_final}


async def get_job(playing: Playing, given: Arguments) -> Result:
    return of_job(await playing.client.get_job(given["name"]))


async def list_jobs(playing: Playing, given: Arguments) -> Result:
    return {"names": [job.name async for job in playing.client.jobs(page_size=given.get("page_size", 0))]}


async def cancel_job(playing: Playing, given: Arguments) -> Result:
    return of_job(await playing.client.cancel_job(given["name"]))


async def watch_job(playing: Playing, given: Arguments) -> Result:
    async with playing.client.watch_job(given["name"]) as changes:
        jobs = [await anext(changes)]
        if given.get("leave"):
            return of_job(jobs[0])
        for step in given.get("between", []):
            await playing.perform(playing, step)
        jobs += [job async for job in changes]
    return {"last": jobs[-1].state.name}


OPERATIONS: Mapping[str, Operation] = {
    operation.__name__: operation
    for operation in (
        *(list_conflicts, get_conflict, resolve_conflict, undo_resolution, slot_history, neighbors, merge_entities),
        *(undo_merge, get_job, list_jobs, cancel_job, watch_job),
    )
}
