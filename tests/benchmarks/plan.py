"""How much is measured, and the store that the benchmarks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from tests.benchmarks.dataset import Dataset
from tests.benchmarks.store import Store


class Plan:
    """`sizes` are partitions of the shared store, smallest first; `middle` is the one most are measured on.

    For the comparison: `systems` are its names (none: all), `cache` holds their environments, `budget` is how many
    seconds each has to store a scenario (0: the usual). For scale: `memories` is how many are stored, `kept` is where
    they stay, for a later run to go on with.
    """

    def __init__(
        self,
        folder: Path,
        quick: bool,
        systems: Sequence[str] = (),
        cache: Path | None = None,
        memories: int = 0,
        kept: Path | None = None,
        budget: float = 0.0,
    ) -> None:
        self.folder = folder
        self.quick = quick
        self.systems = systems
        self.cache = cache
        self.memories = memories or (20_000 if quick else 1_000_000)
        self.kept = kept
        self.budget = budget
        self.questions = 200 if quick else 2_000
        self.sizes = (500, 2_000, 10_000) if quick else (1_000, 10_000, 100_000)
        self.middle = self.sizes[1]
        self.rounds = 300 if quick else 3_000
        self.seconds = 3.0 if quick else 20.0
        self._stores: list[Store] = []
        self.data = Dataset()
        self.spoken_of = False

    @property
    def largest(self) -> int:
        return self.sizes[-1]

    @cached_property
    def store(self) -> Store:
        """The store of recalls and of the start: kept, filled when first needed."""
        return self.new_store("shared")

    @cached_property
    def embedding(self) -> Store:
        """The store with the local embedder; `spoken_of` once there are memories in it."""
        return self.new_store("embedding", {"embedding.provider": "use", "embedding.dimensions": "0"})

    @cached_property
    def followed(self) -> Store:
        """The store of recalls during generation, which embeds from a table."""
        limits = {"embedding.cache-mb": "0", "generation.max-streams": "2000"}
        limits["generation.max-streams-per-namespace"] = "2000"
        return self.new_store("followed", limits, module="tests.benchmarks.serve_from_table")

    def new_store(
        self,
        name: str,
        settings: Mapping[str, str] | None = None,
        keep: bool = False,
        module: str = "tests.benchmarks.serve",
    ) -> Store:
        """With `keep`, in the folder that is kept, if there is one."""
        store = Store(self.folder_of(keep), name, self.data, settings, module)
        self._stores.append(store)
        return store

    def folder_of(self, keep: bool) -> Path:
        return self.kept if keep and self.kept is not None else self.folder

    def close(self) -> None:
        for store in self._stores:
            store.close()
