"""What is said of a conflict."""

from __future__ import annotations

from collections.abc import Mapping

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.memory import Memory


def explanation(conflict: Conflict, memories: Mapping[str, Memory]) -> str:
    return ""


def question(conflict: Conflict, memories: Mapping[str, Memory]) -> tuple[str, str]:
    return "", ""
