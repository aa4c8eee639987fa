"""What a slot held."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.domain.memory import Memory
from memsidecar.domain.view import PartitionView


def slot_history(view: PartitionView, subject: str, attribute: str) -> Sequence[tuple[Memory, str]]:
    raise NotImplementedError
