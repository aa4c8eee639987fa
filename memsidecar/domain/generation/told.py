"""What the agent has, so that it is not told once more: a memory, what was read from it, and what it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memsidecar.domain.generation.said import Said
from memsidecar.domain.generation.values import Candidate, MemoryKey
from memsidecar.domain.memory import Episode, Fact, Memory, Preference
from memsidecar.domain.reading import hardly_more, sources_of
from memsidecar.domain.tokens import tokens


class Told:
    """Memories that were sent or known and hold (`add`, `remove`), and what is said without having been sent."""

    def __init__(self, said: Said) -> None:
        self._said = said
        self._standing: dict[MemoryKey, Memory] = {}
        # Source -> what was read from it, of those.
        self._readings: dict[MemoryKey, dict[MemoryKey, None]] = {}
        self.covered: set[MemoryKey] = set()
        """What was found and need not be told: kept until something changes, so that a search can leave it out."""

    def add(self, candidate: Candidate) -> None:
        key, memory = candidate.key, candidate.hit.memory
        self._standing[key] = memory
        for source in _source_keys(candidate):
            self._readings.setdefault(source, {})[key] = None

    def remove(self, key: MemoryKey) -> None:
        memory = self._standing.pop(key, None)
        self.covered.clear()
        for source in sources_of(memory) if memory is not None else ():
            readings = self._readings.get((key[0], source), {})
            readings.pop(key, None)
            if not readings:
                self._readings.pop((key[0], source), None)

    def rewound(self, length: int) -> None:
        self._said.rewound(length)
        self.covered.clear()

    def rewritten(self, keys: Iterable[MemoryKey] | None) -> None:
        """Memories that have been written, None for any, may say something else."""
        if keys is None:
            self.covered.clear()
        elif self.covered:
            self.covered.difference_update(keys)

    def reached(self, end: int) -> None:
        self._said.reached(end)

    def covers(self, candidate: Candidate, chosen: Sequence[Candidate] = ()) -> bool:
        """Whether the agent has it, given what else is about to be sent: it stands in the prompt, the session or the
        text, or it was read from what does or was sent, or it hardly says more than what was read from it."""
        if self._is_stated(candidate, chosen) or self._is_said(candidate):
            self.covered.add(candidate.key)
            return True
        return False

    def _is_stated(self, candidate: Candidate, chosen: Sequence[Candidate]) -> bool:
        memory, key = candidate.hit.memory, candidate.key
        others = {each.key: each.hit.memory for each in chosen}
        sources = (others.get(each) or self._standing.get(each) for each in _source_keys(candidate))
        if any(source is not None and _says(source, memory) for source in sources):
            return True
        readings = [self._standing[each] for each in self._readings.get(key, ())]
        readings += [each.hit.memory for each in chosen if key in _source_keys(each)]
        return bool(readings) and hardly_more(memory, readings)

    def _is_said(self, candidate: Candidate) -> bool:
        memory = candidate.hit.memory
        if self._holds(memory) or any(_says(each, memory) and self._holds(each) for each in candidate.sources):
            return True
        said = [each for each in candidate.readings if self._holds(each)]
        return bool(said) and hardly_more(memory, said)

    def _holds(self, memory: Memory) -> bool:
        return self._said.holds(memory.text, memory.body.speaker if isinstance(memory.body, Episode) else "")


def _source_keys(candidate: Candidate) -> Iterator[MemoryKey]:
    partition = candidate.key[0]
    return ((partition, source) for source in sources_of(candidate.hit.memory))


def _says(source: Memory, read: Memory) -> bool:
    """Whether a text says what was read from it: a statement that was changed since may be another."""
    if read.version == 1:
        return True
    match read.body:
        case Fact(object_text=value) if value:
            stated = value
        case Preference(value=value) if value:
            stated = value
        case _:
            stated = read.text
    return set(tokens(stated)) <= set(tokens(source.text))
