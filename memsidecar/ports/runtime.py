"""Time and ids come through ports, so that every test can pin them."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Microseconds since 1970 UTC; may step backwards when the machine's clock does."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean anything."""
        ...


class Ids(Protocol):
    def new(self) -> str:
        """A fresh id: unique, lower case, sorting roughly by creation time."""
        ...
