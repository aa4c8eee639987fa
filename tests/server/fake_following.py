"""The real RecallDuring over fakes: a recall, feedback and a keeper that are given, and stores that hold nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from memsidecar.adapters.system_runtime import SystemClock
from memsidecar.domain.recall import Hit
from memsidecar.domain.scope import Partition
from memsidecar.services.changes import Changes
from memsidecar.services.evaluations import Evaluations
from memsidecar.services.feedback import GiveFeedback
from memsidecar.services.following import Parts
from memsidecar.services.generation import RecallDuring
from memsidecar.services.keeping import KeepExchange
from memsidecar.services.recall import Recall
from tests.doubles.runtime import CountedIds


class FakeResidency:
    """No partition is in memory."""

    def peek(self, partition: Partition) -> None:
        return None


class FakeTokenizer:
    """Words are tokens."""

    def count(self, text: str, encoding: str = "") -> int:
        return len(text.split())


class FakeUsages:
    """Counts nothing."""

    def note(self, hits: Iterable[Hit]) -> None:
        pass


def follow_with(recall: Recall, give_feedback: GiveFeedback, keep: KeepExchange) -> RecallDuring:
    residency, tokenizer = cast("Any", FakeResidency()), cast("Any", FakeTokenizer())
    usages = cast("Any", FakeUsages())
    parts = Parts(recall, residency, Changes(), usages, give_feedback, keep, tokenizer, SystemClock(), Evaluations(4))
    return RecallDuring(parts, CountedIds(), 100)
