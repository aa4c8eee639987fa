"""Names of the keys on the server. All keys of one session share a hash tag, so that a cluster keeps them together."""

from __future__ import annotations

from urllib.parse import quote

from memsidecar.domain.errors import InvalidField
from memsidecar.domain.scope import Partition
from memsidecar.ports.sessions import SessionKey

# The order is that of the locals at the top of lua/session.lua.
_PARTS = ("meta", "messages", "pinned", "scratch", "requests", "request-order")


def session_keys(key: SessionKey) -> tuple[str, ...]:
    """The keys of one session, state first."""
    partition = key.partition
    tag = f"ms1:{{{_segment(partition.namespace)}/{_segment(partition.user)}/{_segment(key.session_id)}}}:"
    return tuple(tag + part for part in _PARTS)


def index_keys(partition: Partition) -> tuple[str, str]:
    """The two keys of the partition's list of sessions."""
    tag = f"ms1:{{{_segment(partition.namespace)}/{_segment(partition.user)}}}:"
    return tag + "sessions", tag + "sessions-due"


def _segment(text: str) -> str:
    # Nothing is safe but letters, digits and "_.-~": a brace would end the tag, a slash would join two names.
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise InvalidField("session", "a name must be valid Unicode, without lone surrogates") from error
