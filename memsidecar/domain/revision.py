"""Opaque tokens for revisions and pages: bound to what they are for, so that one cannot be used for another."""

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


def revision_token(partition: Partition, revision: int) -> str:
    return _pack(partition.name.encode(), revision)


def parse_revision(token: str, partition: Partition) -> int | None:
    """The revision, or None when the token is not one of this partition."""
    return _unpack(token, partition.name.encode())


def page_token(arguments: bytes, position: int) -> str:
    """A token that continues after `position`, for a request with just these arguments (page size not counted)."""
    return _pack(b"page:" + arguments, position)


def parse_page_token(token: str, arguments: bytes) -> int | None:
    return _unpack(token, b"page:" + arguments)


def page_token_after(arguments: bytes, key: str) -> str:
    """The same for a collection in the order of its keys: a token that continues after `key`."""
    raw = _KEY_LAYOUT.pack(_KEY_VERSION, _bound(b"page:" + arguments)) + key.encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


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
    raw = _LAYOUT.pack(_VERSION, _bound(bound_to), number)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _unpack(token: str, bound_to: bytes) -> int | None:
    try:
        version, bound, number = _LAYOUT.unpack(_decode(token))
    except (binascii.Error, struct.error, UnicodeEncodeError):
        return None
    return int(number) if (version, bound) == (_VERSION, _bound(bound_to)) else None
