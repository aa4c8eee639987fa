"""How often a partition was in memory when it was wanted."""

from __future__ import annotations

from memsidecar.domain.measures import Histogram


class ResidencyCounts:
    """`hits` and `misses` are looks at a partition that was, and was not, in memory; `loads` are seconds that it took
    to bring one in; `evictions` left for want of room, or at the end."""

    def __init__(self) -> None:
        self.hits = self.misses = self.evictions = 0
        self.loads = Histogram()
