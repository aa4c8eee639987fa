"""What a model has cost so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Usage:
    """Counts since the start; all only grow."""

    calls: int = 0
    """Requests that were sent, retries and repairs among them."""
    retries: int = 0
    """Of those, sent again because the one before failed."""
    repairs: int = 0
    """Of those, sent to have an answer corrected or ended."""
    prompt_tokens: int = 0
    """As the server counts them; 0 from one that does not."""
    completion_tokens: int = 0
    turns: int = 0
    """Turns that were read."""
    claims: int = 0
    """Claims that were kept."""
    rejected: int = 0
    """What was thrown away, turns that could not be read among it."""

    def add(self, told: Any) -> None:
        """The tokens of one answer, as its `usage` tells them; nothing when it does not."""
        if isinstance(told, dict):
            self.prompt_tokens += _tokens(told.get("prompt_tokens", told.get("total_tokens")))
            self.completion_tokens += _tokens(told.get("completion_tokens"))


def _tokens(count: Any) -> int:
    return count if type(count) is int and 0 <= count < 1 << 31 else 0
