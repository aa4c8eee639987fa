"""The hash chain of a partition: what makes a changed, missing or moved entry visible.

    link(n) = SHA256(link(n-1) || numbers || lengths || namespace || user || subject || request id || SHA256(payload))

The payload enters by its hash only, so that erasing one leaves the chain provable. A partition's first entry has an
empty link before it. The place in the file (position) is not part of it: a chain survives a move to another file.
"""

from __future__ import annotations

import hashlib
import struct

from memsidecar.domain.scope import Partition

FIRST = b""

# Revision, recorded_at, codec, and the lengths of subject and request id. Part of the stored format: never change.
_NUMBERS = struct.Struct("<qqqqq")
_LENGTHS = struct.Struct("<qq")


def owner(partition: Partition) -> bytes:
    """A partition as it enters its links: both names with their lengths, so that no two partitions look alike."""
    namespace, user = partition.namespace.encode(), partition.user.encode()
    return _LENGTHS.pack(len(namespace), len(user)) + namespace + user


def payload_hash(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()


def link(
    previous: bytes,
    owned_by: bytes,
    revision: int,
    recorded_at: int,
    codec: int,
    subject: str,
    request_id: str,
    payload_sha256: bytes,
) -> bytes:
    """The link of one entry. Raises ValueError for text that is not Unicode, struct.error for numbers over 64 bits."""
    about, request = subject.encode(), request_id.encode()
    numbers = _NUMBERS.pack(revision, recorded_at, codec, len(about), len(request))
    return hashlib.sha256(b"".join((previous, numbers, owned_by, about, request, payload_sha256))).digest()
