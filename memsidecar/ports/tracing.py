"""Where the time of a call goes, for whoever collects traces. Optional: where there is no Tracer, nothing is timed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

Attributes: TypeAlias = Mapping[str, str | bool | int | float]
"""What a span says besides its name: kinds, counts, outcomes, names from the configuration. Never a text that a user or
a model wrote, never an id of a user, a session or a memory, never an error's message."""


class Span(Protocol):
    """A piece of work that is being timed."""

    def set(self, attributes: Attributes) -> None: ...


class CallSpan(Protocol):
    """A call that is being served."""

    def end(self, code: str, reason: str, namespace: str) -> None:
        """`code` is the name of its gRPC status, `reason` that of its error; the last two may be empty."""
        ...


class Tracer(Protocol):
    """Makes spans. The current one goes with the task, and with the tasks and threads that are started from it.

    Nothing here raises, blocks or waits for whoever collects.
    """

    @property
    def dropped(self) -> int:
        """Spans that were lost since the start: whoever collects was away, or too slow."""
        ...

    def serve(self, method: str, metadata: Iterable[tuple[str, str | bytes]], request_id: str) -> CallSpan:
        """The span of a call, current for the rest of this task. `method` is `package.Service/Method`; the caller's own
        span, if the metadata names one, is its parent, and the caller has decided whether it is kept."""
        ...

    def span(
        self, name: str, attributes: Attributes | None = None, *, remote: bool = False, apart: bool = False
    ) -> AbstractContextManager[Span]:
        """A part of the current span, and current itself until it is left; without a current span, the first of a trace
        of its own. What it raises marks it as failed, by the error's type alone.

        `remote`: it waits for another process. `apart`: it begins a trace of its own, which names the current span.
        """
        ...

    def current(self) -> Span | None:
        """The current span; None when there is none that is kept."""
        ...

    def shared(self, name: str, spans: Sequence[Span], attributes: Attributes) -> AbstractContextManager[object]:
        """Work that is done once for several, each of which gets it as a part. `spans` are of `current`."""
        ...
