"""What is shown of the running process, for whoever collects it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from memsidecar.domain.measures import Histogram


class Kind(Enum):
    """How the values of a metric are to be read."""

    COUNTER = "counter"
    """It only grows, from 0 at the start of the process."""
    GAUGE = "gauge"
    """What is so now."""
    HISTOGRAM = "histogram"


Samples: TypeAlias = Iterable[tuple[tuple[str, ...], float | Histogram]]
"""Values, each with the values of the metric's labels."""


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """Something that is measured. `name` is the whole name, with its unit, and with `_total` for a counter; `text` says
    in one sentence what it is.

    `read` gives what is so now. Any thread calls it, while the event loop goes on: it looks at numbers that are there,
    walks over nothing that grows with what is stored, and never raises."""

    name: str
    kind: Kind
    text: str
    read: Callable[[], Samples]
    labels: tuple[str, ...] = ()
