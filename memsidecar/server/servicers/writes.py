"""What makes a write harmless to repeat."""

from __future__ import annotations

import asyncio
import uuid
from hashlib import sha256
from typing import Any

from memsidecar.domain.draft import Request

_LARGE = 256 * 1024


def request_of(message: Any, actor: str = "") -> Request:
    """The request's id with a digest of everything else: its method, because the messages of two methods may look alike
    on the wire, and its content. Clears the id in the message."""
    if not message.request_id:
        return Request(actor=actor)
    request_id, content = _taken_apart(message)
    return Request(request_id, sha256(content).digest(), actor)


async def large_request_of(message: Any, actor: str = "") -> Request:
    """`request_of` for messages that may be megabytes: those are hashed in a thread."""
    if message.ByteSize() < _LARGE:
        return request_of(message, actor)
    await asyncio.sleep(0)
    if not message.request_id:
        return Request(actor=actor)
    request_id, content = _taken_apart(message)
    return Request(request_id, await hashed(content), actor)


async def hashed(content: bytes) -> bytes:
    """The SHA-256 of what may be megabytes."""
    if len(content) < _LARGE:
        return sha256(content).digest()
    return await asyncio.to_thread(lambda: sha256(content).digest())


def _taken_apart(message: Any) -> tuple[str, bytes]:
    # Two spellings of one UUID are one id.
    request_id = str(uuid.UUID(message.request_id))
    message.ClearField("request_id")
    return request_id, message.DESCRIPTOR.full_name.encode() + b":" + message.SerializeToString(deterministic=True)
