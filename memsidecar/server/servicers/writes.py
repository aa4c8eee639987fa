"""What makes a write harmless to repeat."""

from __future__ import annotations

import uuid
from hashlib import sha256
from typing import Any

from memsidecar.domain.draft import Request


def request_of(message: Any, actor: str = "") -> Request:
    """The request's id with a digest of everything else in it. Clears the id in the message."""
    if not message.request_id:
        return Request(actor=actor)
    # Two spellings of one UUID are one id.
    request_id = str(uuid.UUID(message.request_id))
    message.ClearField("request_id")
    return Request(request_id, sha256(message.SerializeToString(deterministic=True)).digest(), actor)
