"""What the writer has done. Its thread raises the numbers; any may read them."""

from __future__ import annotations

from memsidecar.domain.measures import Histogram


class LedgerCounts:
    """`commits` are seconds of whole transactions that were committed, `syncs` of their last step, which waits for the
    disk; `events` are in them. `failures` were rolled back. `position` is that of the newest entry."""

    def __init__(self) -> None:
        self.commits, self.syncs = Histogram(), Histogram()
        self.events = self.failures = self.position = 0
