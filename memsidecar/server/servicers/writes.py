"""What makes a write harmless to repeat."""

from __future__ import annotations

import uuid
from hashlib import sha256
from typing import Any

from memsidecar.domain.draft import Request


def request_of(message: Any, actor: str = "") -> Request:
    """The request's id with a digest of everything else: its method, because the messages of two methods may look alike
    on the wire, and its content. Clears the id in the message."""
    if not message.request_id:
        return Request(actor=actor)
    # Two spellings of one UUID are one id.
    request_id = str(uuid.UUID(message.request_id))
    message.ClearField("request_id")
    kind = message.DESCRIPTOR.full_name.encode()
    digest = sha256(kind + b":" + message.SerializeToString(deterministic=True)).digest()
    return Request(request_id, digest, actor)
