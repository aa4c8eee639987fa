"""Working memory: sessions, their messages, windows and scratch values."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from memsidecar.domain.draft import Request
from memsidecar.domain.errors import InvalidField, NotFound
from memsidecar.domain.scope import Partition, Scope, resource_name
from memsidecar.domain.session import Message, ScratchEntry, ScratchWrite, Session, Window
from memsidecar.domain.shortening import Shortening, plain_cost, tokens_of
from memsidecar.domain.window import (
    DEFAULT_MAX_MESSAGES,
    DEFAULT_RESERVED_TOKENS,
    DEFAULT_TOKEN_BUDGET,
    LOOK_BACK,
    MESSAGE_OVERHEAD,
    cut_window,
)
from memsidecar.ports.models import Tokenizer
from memsidecar.ports.runtime import Clock, Ids
from memsidecar.ports.sessions import Appended, SessionChange, SessionKey, SessionStore

HOUR = 3600 * 1_000_000
DEFAULT_TTL = HOUR
# Characters counted on the loop, about half a millisecond; more of them in a thread. A message of its own costs as much
# as so many.
COUNTED_INLINE = 20_000
COST_OF_MESSAGE = 400
# So many results together are over a window's budget though each is far from it.
MANY_RESULTS = 16


class Sessions:
    def __init__(self, store: SessionStore, tokenizer: Tokenizer, clock: Clock, ids: Ids) -> None:
        self._store, self._tokenizer, self._clock, self._ids = store, tokenizer, clock, ids
        self._listeners: dict[SessionKey, dict[object, Callable[[Sequence[Message]], None]]] = {}

    def listen(self, key: SessionKey, listener: Callable[[Sequence[Message]], None]) -> Callable[[], None]:
        """Call `listener` with what is appended here, until what is returned is called. It must return at once and not
        raise."""
        token = object()
        self._listeners.setdefault(key, {})[token] = listener

        def end() -> None:
            listeners = self._listeners.get(key, {})
            listeners.pop(token, None)
            if not listeners:
                self._listeners.pop(key, None)

        return end

    async def create(
        self,
        scope: Scope,
        session_id: str,
        labels: Mapping[str, str],
        expires_at: int | None,
        ttl: int | None,
        request: Request,
    ) -> Session:
        """A new session; its id is `session_id`, else the scope's session, else a new one. Raises AlreadyExists."""
        now = self._clock.now()
        asked = _lasting(expires_at, ttl, now)
        lasting = DEFAULT_TTL if asked is None else asked
        session_id = session_id or scope.session or self._ids.new()
        session = Session(
            id=session_id,
            scope=replace(scope, session=session_id),
            created_at=now,
            updated_at=now,
            expires_at=now + lasting,
            ttl=lasting,
            sliding=expires_at is None,
            labels=labels,
        )
        return await self._store.create(session, request.request_id, request.digest)

    async def get(self, key: SessionKey) -> Session:
        return await self._store.get(key)

    async def list(self, partition: Partition, after: str, limit: int) -> Sequence[Session]:
        """Live sessions in the order of their ids, after the given id."""
        return await self._store.list(partition, after, limit)

    async def update(
        self,
        key: SessionKey,
        labels: Mapping[str, str] | None,
        expires_at: int | None,
        ttl: int | None,
        etag: str,
        request: Request,
    ) -> Session:
        """Change labels or expiration; None leaves them. Raises NotFound, EtagMismatch."""
        now = self._clock.now()
        lasting = _lasting(expires_at, ttl, now)
        sliding = None if lasting is None else expires_at is None
        expected = None if not etag else int(etag) if etag.isdecimal() else -1
        change = SessionChange(labels, lasting, sliding, expected)
        return await self._store.update(key, change, now, request.request_id, request.digest)

    async def end(self, key: SessionKey, request: Request) -> Session:
        return await self._store.end(key, self._clock.now(), request.request_id, request.digest)

    async def delete(self, key: SessionKey, request: Request) -> None:
        """Remove a session. NotFound when there is none, unless the request can be a retry."""
        if not await self._store.delete(key) and not request.request_id:
            raise NotFound(resource_name(key.partition, "sessions", key.session_id))

    async def append(
        self, key: SessionKey, messages: Sequence[Message], expected_last_seq: int | None, request: Request
    ) -> Appended:
        """Add messages in order, all or none, said now; tokens are counted where the caller did not."""
        now = self._clock.now()
        messages = [replace(message, created_at=now) for message in messages]
        if sum(len(m.text) + COST_OF_MESSAGE for m in messages) > COUNTED_INLINE:
            counted = await asyncio.to_thread(self._counted, messages)
        else:
            counted = self._counted(messages)
        appended = await self._store.append(key, counted, now, expected_last_seq, request.request_id, request.digest)
        for listener in [*self._listeners.get(key, {}).values()]:
            listener(messages)
        return appended

    async def messages(self, key: SessionKey, after_seq: int, limit: int) -> Sequence[Message]:
        return await self._store.messages(key, after_seq, limit)

    async def window(
        self, key: SessionKey, max_tokens: int, reserved_tokens: int | None, max_messages: int, tokenizer: str
    ) -> Window:
        """The newest messages that fit, pinned ones always, and of the newest as much as fits; 0 and None mean the
        defaults. Raises TokenizerUnknown, and InvalidField when nothing of the newest fits."""
        context = max_tokens or DEFAULT_TOKEN_BUDGET
        reserved = reserved_tokens if reserved_tokens is not None else min(DEFAULT_RESERVED_TOKENS, context // 4)
        limit = max_messages or DEFAULT_MAX_MESSAGES
        encoding = self._tokenizer.resolve(tokenizer) if tokenizer else ""
        session, messages = await self.conversation(key, limit * LOOK_BACK)
        if encoding and encoding != self._tokenizer.resolve(""):
            # A vocabulary that is used for the first time takes a third of a second to read.
            messages = await asyncio.to_thread(self.recounted, messages, encoding)
        budget = max(0, context - reserved)
        count = partial(self._tokenizer.count, encoding=encoding)
        shortening = Shortening(count, plain_cost(count))
        cut = partial(cut_window, messages, (), budget, limit, MESSAGE_OVERHEAD, shortening)
        # What may have to be shortened, also as one of several tool results, is counted many times.
        is_long = max((message.token_count for message in messages), default=0) > budget // MANY_RESULTS
        window = await asyncio.to_thread(cut) if is_long else cut()
        return replace(window, omitted=max(0, session.last_seq - len(window.messages)))

    async def conversation(self, key: SessionKey, look_back: int) -> tuple[Session, Sequence[Message]]:
        """The session, and what a window is cut from: the newest messages and all that must stay. Raises NotFound."""
        session = await self._store.get(key)
        newest = await self._store.newest(key, look_back)
        pinned = await self._store.pinned(key)
        present = {message.seq for message in newest}
        return session, [*(message for message in pinned if message.seq not in present), *newest]

    def recounted(self, messages: Sequence[Message], encoding: str) -> Sequence[Message]:
        """The messages with their tokens in another encoding; takes a while for long ones."""
        return [replace(message, token_count=self._count(message, encoding)) for message in messages]

    async def set_scratch(
        self, key: SessionKey, writes: Sequence[ScratchWrite], ttl: int | None, request: Request
    ) -> Sequence[ScratchEntry]:
        """All or none; `ttl` is for writes without an expiry of their own. Raises EtagMismatch, SessionEnded."""
        now = self._clock.now()
        if ttl is not None:
            writes = [w if w.expires_at is not None else replace(w, expires_at=now + ttl) for w in writes]
        return await self._store.set_scratch(key, writes, now, request.request_id, request.digest)

    async def scratch(self, key: SessionKey, keys: Sequence[str]) -> Sequence[ScratchEntry]:
        return await self._store.scratch(key, keys, self._clock.now())

    async def list_scratch(self, key: SessionKey, prefix: str, after: str, limit: int) -> Sequence[ScratchEntry]:
        return await self._store.list_scratch(key, prefix, after, limit, self._clock.now())

    async def delete_scratch(self, key: SessionKey, keys: Sequence[str], request: Request) -> int:
        return await self._store.delete_scratch(key, keys, self._clock.now(), request.request_id, request.digest)

    def _counted(self, messages: Sequence[Message]) -> Sequence[Message]:
        return [m if m.token_count else replace(m, token_count=self._count(m)) for m in messages]

    def _count(self, message: Message, encoding: str = "") -> int:
        return tokens_of(message, message.text, partial(self._tokenizer.count, encoding=encoding))


def _lasting(expires_at: int | None, ttl: int | None, now: int) -> int | None:
    """How long a session lives from now on; None when the caller does not say."""
    if ttl is not None or expires_at is None:
        return ttl
    if expires_at <= now:
        raise InvalidField("session.expire_time", "must be in the future")
    return expires_at - now
