"""The times that a text names."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from memsidecar.domain.time_span import TimeSpan


class TimeExpressions(Protocol):
    """Reads "last spring", 上周三 or 2024-03-03. Pure, never raises on any text, fast enough for the event loop."""

    def find(self, text: str, reference: datetime) -> tuple[TimeSpan, ...]:
        """The times that `text` names, in order of appearance, without overlaps; a range ("from A to B") is one.

        `reference` is when the text was said, and aware: its zone says where days begin. Relative words count from it,
        and what the words leave open ("in June", 周三) is the last such time up to the reference.
        """
        ...

    def resolve(self, text: str, reference: datetime) -> TimeSpan | None:
        """The one time that `text` is about: the first that it names, or None."""
        ...
