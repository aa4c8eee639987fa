"""Which sessions a partition has. Kept beside the sessions, under a hash tag of its own."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from memsidecar.adapters.redis_sessions.codec import decode_session, utf8
from memsidecar.adapters.redis_sessions.keys import index_keys, session_keys
from memsidecar.adapters.redis_sessions.server import Argument, Server
from memsidecar.domain.scope import Partition
from memsidecar.domain.session import Session
from memsidecar.ports.sessions import SessionKey

# Ids of expired sessions cost a look each; this many are looked at in one go even when fewer are asked for.
_LEAST_BATCH = 50


class SessionIndex:
    """Ids in order. An id is added before its session exists and may outlive it; only the session itself decides."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def add(self, key: SessionKey, ttl: int) -> None:
        """Lists the session; harmless to repeat. Also looks after a few ids whose time is over, so that none stays."""
        args: list[Argument] = [utf8(key.session_id, "session"), ceil(ttl / 1000)]
        over = await self._server.run("index_add", index_keys(key.partition), args, True)
        if over:
            await self._review(key.partition, over)

    async def stamp(self, key: SessionKey) -> bytes:
        """What remove() needs: tells this session from a later one with the same id. Empty when it is not listed."""
        _, due = index_keys(key.partition)
        return await self._server.command("ZSCORE", due, utf8(key.session_id, "session")) or b""

    async def remove(self, key: SessionKey, stamp: bytes) -> None:
        """Takes the id out unless it was added again since the stamp."""
        if stamp:
            args = [utf8(key.session_id, "session"), stamp]
            await self._server.run("index_remove", index_keys(key.partition), args, True)

    async def list(self, partition: Partition, after: str, limit: int) -> Sequence[Session]:
        """Sessions that exist, in the order of their ids, after the given id."""
        ids_key, _ = index_keys(partition)
        found: list[Session] = []
        start = b"(" + utf8(after, "after") if after else b"-"
        while len(found) < limit:
            batch = max(limit - len(found), _LEAST_BATCH)
            ids: list[bytes] = await self._server.command("ZRANGEBYLEX", ids_key, start, "+", "LIMIT", 0, batch)
            keys = [SessionKey(partition, raw.decode()) for raw in ids]
            states = await self._server.commands([("HGETALL", session_keys(key)[0]) for key in keys])
            found += [decode_session(key, state) for key, state in zip(keys, states, strict=True) if state]
            gone = [raw for raw, state in zip(ids, states, strict=True) if not state]
            if gone:
                await self._review(partition, gone)
            if len(ids) < batch:
                break
            start = b"(" + ids[-1]
        return tuple(found[: max(limit, 0)])

    async def _review(self, partition: Partition, ids: Sequence[bytes]) -> None:
        keys = [session_keys(SessionKey(partition, raw.decode()))[0] for raw in ids]
        left: list[int] = await self._server.commands([("PTTL", key) for key in keys])
        args = [value for pair in zip(ids, left, strict=True) for value in pair]
        await self._server.run("index_review", index_keys(partition), args, True)
