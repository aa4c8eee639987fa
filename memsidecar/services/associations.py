"""The graph's second hop: from the best rows over the entities that they mention to other rows that mention them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.ranking import Places, Values
from memsidecar.services.resident import Resident
from memsidecar.services.sources import many_rows


class Associations:
    def __init__(self, resident: Resident, rows: NDArray[np.int64]) -> None:
        self._resident, self._rows = resident, rows
        self._mentions: Any = resident.columns["mentions"][rows]
        self.possible = bool(self._mentions.any())
        # The entities that led from the best rows to others.
        self.over: tuple[str, ...] = ()

    def share(self, best: Places, relevance: Values) -> Values | None:
        """What each candidate gets from the best ones: their relevance, less for an entity that many rows mention, less
        for a row that mentions many. None when nothing leads from one row to another."""
        resident, mentions = self._resident, self._mentions
        documents = max(1, resident.memories)
        most = many_rows(resident)
        strengths: dict[str, float] = {}
        for place, value in zip(best.tolist(), relevance.tolist(), strict=True):
            if not mentions[place] or value <= 0.0:
                continue
            for entity in resident.records.get(int(self._rows[place])).mentions:
                if entity in resident.speaking():
                    continue
                seen = resident.lookup.about_count(entity)
                if 2 <= seen <= most:
                    strength = value * _idf(seen, documents) / float(mentions[place]) ** 0.5
                    strengths[entity] = max(strengths.get(entity, 0.0), strength)
        if not strengths:
            return None
        self.over = tuple(strengths)
        gained = np.zeros(len(self._rows), dtype=np.float32)
        for entity, strength in strengths.items():
            about = resident.lookup.about(entity)
            places = np.searchsorted(self._rows, about)
            places[places == len(self._rows)] = 0
            places = places[self._rows[places] == about]
            gained[places] = np.maximum(gained[places], np.float32(strength))
        gained /= np.sqrt(np.maximum(mentions, 1).astype(np.float32))
        return gained


def _idf(seen: int, documents: int) -> float:
    """Inverse document frequency as a share of that of an entity never seen."""
    return float(np.log1p((documents - seen + 0.5) / (seen + 0.5)) / np.log1p((documents + 0.5) / 0.5))
