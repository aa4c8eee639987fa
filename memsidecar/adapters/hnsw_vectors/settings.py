"""The numbers that decide when vectors move into hnswlib, and how fast."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HnswSettings:
    crossover: int = 5_000
    """Live vectors above which hnswlib is used. Exact search reads all of them: 5,000 x 384 float32 are 7.7 MB, about
    what a core's share of the cache holds. At 4,000 it took 0.12 ms, at 10,000 1.1 ms, hnswlib there 0.36 ms. An
    hnswlib.Index costs 2.6 MiB empty, so a small partition must never have one."""

    slice_seconds: float = 0.002
    """How long a move may hold the lock, which is how long a search may wait."""

    build_threads: int = 1
    """Threads of a bulk move. Two halve the build, and take the event loop's core on a machine of two."""

    links: int = 16
    """Neighbours that hnswlib links a vector with (its M). 24 make a search of 10,000 take 1.5 times as long, of
    100,000 1.3 times, and find no more."""

    links_of_many: int = 24
    many: int = 200_000
    """Live vectors above which there are more links. Of a million (384 numbers, clustered), ef 500 found 0.986 of the
    ten nearest with 24 links, 0.96 with 16, and no ef more than 0.965. They cost 64 bytes a vector."""

    tombstone_share: float = 0.3
    """Removed vectors, as a share of those held, above which they are cleared out."""

    def __post_init__(self) -> None:
        if self.crossover < 1 or self.build_threads < 1:
            raise ValueError("crossover and build_threads are at least 1")
        if not 1 <= self.links <= self.links_of_many:
            raise ValueError("links are at least 1, links_of_many no fewer")
        if self.slice_seconds <= 0 or not 0 < self.tombstone_share < 1:
            raise ValueError("slice_seconds is above 0, tombstone_share between 0 and 1")

    @property
    def exact_again_below(self) -> int:
        """Half the crossover: a partition that hovers around it is not rebuilt back and forth."""
        return self.crossover // 2
