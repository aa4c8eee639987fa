"""Opaque tokens for revisions and pages: bound to what they are for, so that one cannot be used for another.

Revisions count what has happened in one history of a store, and a restore begins another one: the same number is
another state there. So a token says of which history it is; 0 is that of a store that an early release made.
"""

from __future__ import annotations

import base64
import binascii
import struct
from hashlib import sha256

from memsidecar.domain.scope import Partition

_VERSION = 1
_LAYOUT = struct.Struct(">B8sQ")
_KEY_VERSION = 2
_KEY_LAYOUT = struct.Struct(">B8s")
_HISTORY_VERSION = 3
_HISTORY_LAYOUT = struct.Struct(">B8sQQ")


def revision_token(partition: Partition, revision: int, history: int = 0) -> str:
    name = partition.name.encode()
    if not history:
        return _pack(name, revision)
    return _encode(_HISTORY_LAYOUT.pack(_HISTORY_VERSION, _bound(name), revision, history))


def parse_revision(token: str, partition: Partition) -> tuple[int, int] | None:
    """The revision and the history that it is of, or None when the token is not one of this partition."""
    name = partition.name.encode()
    if (revision := _unpack(token, name)) is not None:
        return revision, 0
    try:
        version, bound, number, history = _HISTORY_LAYOUT.unpack(_decode(token))
    except (binascii.Error, struct.error, UnicodeEncodeError):
        return None
    return (int(number), int(history)) if (version, bound) == (_HISTORY_VERSION, _bound(name)) else None


def page_token(arguments: bytes, position: int) -> str:
    """A token that continues after `position`, for a request with just these arguments (page size not counted)."""
    return _pack(b"page:" + arguments, position)


def parse_page_token(token: str, arguments: bytes) -> int | None:
    return _unpack(token, b"page:" + arguments)


def page_token_after(arguments: bytes, key: str) -> str:
    """The same for a collection in the order of its keys: a token that continues after `key`."""
    raw = _KEY_LAYOUT.pack(_KEY_VERSION, _bound(b"page:" + arguments)) + key.encode()
    return _encode(raw)


def parse_page_key(token: str, arguments: bytes) -> str | None:
    try:
        raw = _decode(token)
        version, bound = _KEY_LAYOUT.unpack_from(raw)
        key = raw[_KEY_LAYOUT.size :].decode()
    except (binascii.Error, struct.error, UnicodeError):
        return None
    return key if (version, bound) == (_KEY_VERSION, _bound(b"page:" + arguments)) else None


def _bound(bound_to: bytes) -> bytes:
    return sha256(bound_to).digest()[:8]


def _decode(token: str) -> bytes:
    return base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)


def _pack(bound_to: bytes, number: int) -> str:
    return _encode(_LAYOUT.pack(_VERSION, _bound(bound_to), number))


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _unpack(token: str, bound_to: bytes) -> int | None:
    try:
        version, bound, number = _LAYOUT.unpack(_decode(token))
    except (binascii.Error, struct.error, UnicodeEncodeError):
        return None
    return int(number) if (version, bound) == (_VERSION, _bound(bound_to)) else None
