"""Slowing down when text comes faster than it can be searched for, and speeding up again."""

from __future__ import annotations

from dataclasses import replace

from memsidecar.domain.generation.values import MAX_MIN_CHARS, MAX_MIN_INTERVAL, Backoff, Trigger

LATE_ANSWERS = 3
EARLY_ANSWERS = 8
MAX_STEPS = 6
_FIRST_INTERVAL = 0.05


class Pace:
    """The effective trigger: the one that was asked for, with both numbers doubled at each step.

    An answer is late when it took longer than `min_interval` and two or more reasons to evaluate have come up
    meanwhile; after three in a row there is one step more. It is early when it took a quarter of `min_interval` or
    less, with at most one such reason; after eight in a row there is one step less.
    """

    def __init__(self, asked: Trigger) -> None:
        self._asked = self.effective = asked
        self._step = self._late = self._early = 0

    def answered(self, took: float, waiting: int) -> Backoff | None:
        """An evaluation took so many seconds, and `waiting` reasons are there for the next: what has changed."""
        self._late = self._late + 1 if waiting > 1 and took > self.effective.min_interval else 0
        self._early = self._early + 1 if waiting <= 1 and took <= self.effective.min_interval / 4 else 0
        if self._late == LATE_ANSWERS and self._step < MAX_STEPS:
            return self._change(self._step + 1, "text comes faster than it can be searched for")
        if self._early == EARLY_ANSWERS and self._step > 0:
            return self._change(self._step - 1, "searching keeps up with the text again")
        return None

    def _change(self, step: int, reason: str) -> Backoff | None:
        self._step, self._late, self._early = step, 0, 0
        before, asked = self.effective, self._asked
        if step == 0:
            self.effective = asked
        else:
            chars = max(asked.min_chars, min(asked.min_chars * 2**step, MAX_MIN_CHARS))
            interval = max(asked.min_interval, _FIRST_INTERVAL) * 2**step
            interval = max(asked.min_interval, min(interval, MAX_MIN_INTERVAL))
            self.effective = replace(asked, min_chars=chars, min_interval=interval)
        if self.effective == before:
            return None
        return Backoff(self.effective.min_chars, self.effective.min_interval, reason)
