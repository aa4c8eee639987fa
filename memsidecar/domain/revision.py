"""Opaque tokens for revisions and pages: bound to what they are for, so that one cannot be used for another."""

from __future__ import annotations

import base64
import binascii
import struct
from hashlib import sha256

from memsidecar.domain.scope import Partition

_VERSION = 1
_LAYOUT = struct.Struct(">B8sQ")


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


def _pack(bound_to: bytes, number: int) -> str:
    raw = _LAYOUT.pack(_VERSION, sha256(bound_to).digest()[:8], number)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _unpack(token: str, bound_to: bytes) -> int | None:
    try:
        raw = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        version, bound, number = _LAYOUT.unpack(raw)
    except (binascii.Error, struct.error, UnicodeEncodeError):
        return None
    if version != _VERSION or bound != sha256(bound_to).digest()[:8]:
        return None
    return int(number)
