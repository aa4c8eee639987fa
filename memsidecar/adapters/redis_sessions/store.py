"""Implements ports/sessions.py on a Redis-protocol server. Each write is one script: it happens as a whole or not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from memsidecar.adapters.redis_sessions.codec import (
    decode_message,
    decode_scratch,
    decode_session,
    encode_labels,
    encode_message,
    encode_session,
    pairs,
    utf8,
)
from memsidecar.adapters.redis_sessions.index import SessionIndex
from memsidecar.adapters.redis_sessions.keys import session_keys
from memsidecar.adapters.redis_sessions.server import Argument, Server
from memsidecar.adapters.redis_sessions.settings import RedisSettings
from memsidecar.domain.errors import (
    AlreadyExists,
    EtagMismatch,
    InvalidField,
    NotFound,
    RequestIdReused,
    SequenceMismatch,
    SessionEnded,
)
from memsidecar.domain.measures import Calls
from memsidecar.domain.scope import Partition, resource_name
from memsidecar.domain.session import Message, ScratchEntry, ScratchWrite, Session
from memsidecar.ports.sessions import Appended, SessionChange, SessionKey

_Answer = list[Any]  # `list` is a method in the class below
# Messages decoded, and bytes encoded, before others get a turn on the event loop: a millisecond.
_AT_ONCE = 64
_BYTES_AT_ONCE = 128 * 1024


class RedisSessions:
    """The session store. `message_count` and `token_count` of a session are those of the transcript it still holds.

    Expiry of a session goes by the server's clock; every time that is stored or compared is one that the caller gave.
    """

    def __init__(self, server: Server, settings: RedisSettings) -> None:
        self._server = server
        self._settings = settings
        self._index = SessionIndex(server)

    @classmethod
    def connect(cls, settings: RedisSettings) -> RedisSessions:
        """A store that connects with its first call. Raises InvalidField when the URL is none for a Redis server."""
        return cls(Server.connect(settings), settings)

    @property
    def calls(self) -> Calls:
        """How the calls to the server went."""
        return self._server.calls

    async def create(self, session: Session, request_id: str, digest: bytes) -> Session:
        if session.ttl <= 0:
            raise InvalidField("session.ttl", "must be greater than 0")
        key = SessionKey(session.scope.partition, session.id)
        args = [*_once(session.updated_at, "create", request_id, digest), *encode_session(session)]
        # Listed first: a crash in between leaves an id without a session, which lists skip, never a session without id.
        await self._index.add(key, session.ttl)
        return decode_session(key, pairs((await self._write("create", key, args, request_id))[0]))

    async def get(self, key: SessionKey) -> Session:
        fields: Mapping[bytes, bytes] = await self._server.command("HGETALL", session_keys(key)[0])
        if not fields:
            raise NotFound(_name(key))
        return decode_session(key, fields)

    async def list(self, partition: Partition, after: str, limit: int) -> Sequence[Session]:
        return await self._index.list(partition, after, limit)

    async def update(self, key: SessionKey, change: SessionChange, now: int, request_id: str, digest: bytes) -> Session:
        if change.ttl is not None and change.ttl <= 0:
            raise InvalidField("session.ttl", "must be greater than 0")
        args = _once(now, "update", request_id, digest)
        args.append(_or_empty(change.expected_version))
        args.append(b"" if change.labels is None else encode_labels(change.labels))
        args.append(_or_empty(change.ttl))
        args.append("" if change.sliding is None else int(change.sliding))
        return decode_session(key, pairs((await self._write("update", key, args, request_id))[0]))

    async def end(self, key: SessionKey, now: int, request_id: str, digest: bytes) -> Session:
        # Ending twice is ending once, so a lost answer may be asked for again even without a request id.
        answer = await self._run("end", key, _once(now, "end", request_id, digest), True, request_id)
        return decode_session(key, pairs(answer[0]))

    async def delete(self, key: SessionKey) -> bool:
        stamp = await self._index.stamp(key)
        # Not repeated when the answer is lost: the second one would say that there was nothing.
        existed = bool((await self._run("delete", key, (), False))[0])
        await self._index.remove(key, stamp)
        return existed

    async def append(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        now: int,
        expected_last_seq: int | None,
        request_id: str,
        digest: bytes,
    ) -> Appended:
        if not messages:
            raise InvalidField("messages", "must hold at least one message")
        args = _once(now, "append", request_id, digest)
        args += (_or_empty(expected_last_seq), self._settings.max_messages, self._settings.max_pinned)
        size = 0
        for at, message in enumerate(messages):
            args.append(encoded := encode_message(message, f"messages[{at}]"))
            if (size := size + len(encoded)) > _BYTES_AT_ONCE:
                size = 0
                await asyncio.sleep(0)
        last, state = await self._write("append", key, args, request_id, expected_last_seq)
        seqs = range(int(last) + 1, int(last) + 1 + len(messages))
        tokens = sum(max(0, message.token_count) for message in messages)
        return Appended(tuple(seqs), tokens, decode_session(key, pairs(state)))

    async def messages(self, key: SessionKey, after_seq: int, limit: int) -> Sequence[Message]:
        return await self._range(key, limit, str(max(0, after_seq)))

    async def newest(self, key: SessionKey, limit: int) -> Sequence[Message]:
        return await self._range(key, limit, "")

    async def pinned(self, key: SessionKey) -> Sequence[Message]:
        stored = pairs((await self._read("pinned", key, ()))[0])
        return tuple(decode_message(stored[seq], int(seq)) for seq in sorted(stored, key=int))

    async def set_scratch(
        self, key: SessionKey, writes: Sequence[ScratchWrite], now: int, request_id: str, digest: bytes
    ) -> Sequence[ScratchEntry]:
        if len({write.key for write in writes}) != len(writes):
            raise InvalidField("entries", "must not name a key twice")
        args = _once(now, "set_scratch", request_id, digest)
        args += (self._settings.max_scratch_entries, self._settings.max_scratch_bytes)
        size = 0
        for at, write in enumerate(writes):
            if (size := size + len(write.value)) > _BYTES_AT_ONCE:
                size = 0
                await asyncio.sleep(0)
            args += (utf8(write.key, f"entries[{at}].key"), _or_empty(write.expected_version))
            args += (_or_empty(write.expires_at), utf8(write.value, f"entries[{at}].value"))
        answer = await self._write("set_scratch", key, args, request_id)
        first = int(answer[0]) + 1
        return tuple(
            ScratchEntry(write.key, write.value, write.expires_at, version)
            for version, write in enumerate(writes, first)
        )

    async def scratch(self, key: SessionKey, keys: Sequence[str], now: int) -> Sequence[ScratchEntry]:
        stored = (await self._read("get_scratch", key, [utf8(name, "keys") for name in keys]))[0]
        found = (decode_scratch(name, value) for name, value in zip(keys, stored, strict=True) if value is not None)
        return tuple(entry for entry in found if entry.expires_at is None or entry.expires_at > now)

    async def list_scratch(
        self, key: SessionKey, prefix: str, after: str, limit: int, now: int
    ) -> Sequence[ScratchEntry]:
        stored = pairs((await self._read("list_scratch", key, (now,)))[0])
        # The order of UTF-8 bytes is the order of code points.
        start, beyond = utf8(prefix, "prefix"), utf8(after, "after")
        names = sorted(name for name in stored if name.startswith(start) and (not after or name > beyond))
        return tuple(decode_scratch(name.decode(), stored[name]) for name in names[: max(0, limit)])

    async def delete_scratch(
        self, key: SessionKey, keys: Sequence[str], now: int, request_id: str, digest: bytes
    ) -> int:
        args = _once(now, "delete_scratch", request_id, digest)
        args += (utf8(name, "keys") for name in keys)
        return int((await self._write("delete_scratch", key, args, request_id))[0])

    async def check(self) -> None:
        await self._server.command("PING")

    async def close(self) -> None:
        await self._server.close()

    async def _range(self, key: SessionKey, limit: int, after: str) -> Sequence[Message]:
        if limit <= 0:
            await self.get(key)
            return ()
        first, stored = await self._read("messages", key, (limit, after))
        messages: list[Message] = []
        for start in range(0, len(stored), _AT_ONCE):
            seqs = range(int(first) + start, int(first) + len(stored))
            messages += (decode_message(m, seq) for m, seq in zip(stored[start : start + _AT_ONCE], seqs, strict=False))
            await asyncio.sleep(0)
        return tuple(messages)

    async def _read(self, script: str, key: SessionKey, args: Sequence[Argument]) -> _Answer:
        return await self._run(script, key, args, True)

    async def _write(
        self, script: str, key: SessionKey, args: Sequence[Argument], request_id: str, expected_seq: int | None = None
    ) -> _Answer:
        # Without a request id nobody can tell whether a write whose answer was lost has happened: not repeated.
        return await self._run(script, key, args, bool(request_id), request_id, expected_seq)

    async def _run(
        self,
        script: str,
        key: SessionKey,
        args: Sequence[Argument],
        repeatable: bool,
        request_id: str = "",
        expected_seq: int | None = None,
    ) -> _Answer:
        answer: _Answer = await self._server.run(script, session_keys(key), args, repeatable)
        outcome, values = answer[0], answer[1:]
        if outcome != b"ok":
            self._refuse(outcome, values, key, request_id, expected_seq)
        return values

    def _refuse(
        self, outcome: bytes, values: Sequence[bytes], key: SessionKey, request_id: str, expected_seq: int | None
    ) -> NoReturn:
        limits, name = self._settings, _name(key)
        match outcome:
            case b"missing":
                raise NotFound(name)
            case b"exists":
                raise AlreadyExists(name)
            case b"ended":
                raise SessionEnded(name)
            case b"reused":
                raise RequestIdReused(request_id)
            case b"moved":
                raise SequenceMismatch(name, expected_seq or 0, int(values[0]))
            case b"etag":
                resource = f"{name} scratch {values[0].decode()}" if values[0] else name
                raise EtagMismatch(resource, values[1].decode())
            case b"full":
                raise InvalidField(
                    "messages", f"a session keeps at most {limits.max_pinned} pinned and system messages"
                )
            case b"entries":
                raise InvalidField("entries", f"a session's scratch holds at most {limits.max_scratch_entries} entries")
            case _:
                raise InvalidField("entries", f"a session's scratch holds at most {limits.max_scratch_bytes} bytes")


def _once(now: int, action: str, request_id: str, digest: bytes) -> list[Argument]:
    """The first arguments of every write. The action is part of the digest: one id cannot mean two kinds of write."""
    return [now, utf8(request_id, "request_id"), action.encode() + b" " + digest]


def _or_empty(number: int | None) -> Argument:
    return "" if number is None else number


def _name(key: SessionKey) -> str:
    return resource_name(key.partition, "sessions", key.session_id)
