"""The keyword index of one partition: BM25 over rows (0, 1, 2 ...), appended to, searched with numpy.

Own code, because the score is part of the ranking: it is summed with cosines, so it is normalised by the question's own
idf mass instead of by the best hit. Sources: Robertson & Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond" (2009); idf as in Lucene, ln(1 + (N - df + 0.5) / (df + 0.5)), never negative.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.bm25 import K1, LENGTH, LONGEST, B

_FLAT, _SLOPE = K1 * (1.0 - B), K1 * B / LENGTH
# A posting is a row and a term count in one 32-bit number: 16.7 million rows, counts up to 255.
_COUNT_BITS = 8
MAX_ROWS = 1 << (32 - _COUNT_BITS)
_MAX_COUNT = (1 << _COUNT_BITS) - 1
_MAX_LENGTH = 0xFFFF
# A pasted page has thousands of terms, each of which would cost ten numpy calls.
_MANY_TERMS = 64
# Postings in one pass over many terms: what the pass allocates for each is 30 bytes.
_PASS = 1 << 20
# Terms between two yields of `adding` and `removing`: a tenth of a millisecond.
_STEP = 128


class KeywordIndex:
    """Postings of every term, in the order of rows, which mostly come in increasing order."""

    def __init__(self) -> None:
        self._postings: dict[str, array[int]] = {}
        self._lengths = array("H")
        # What a row's length adds to the denominator of BM25.
        self._damping = array("f")
        self._documents = 0
        self._entries = 0

    def add(self, row: int, terms: Iterable[str]) -> None:
        """Index a row's terms (repeats count), given one by one or counted. Rows without a call in between are empty.

        Raises ValueError for a row that has terms already, or is beyond MAX_ROWS.
        """
        for _ in self.adding(row, terms):
            pass

    def adding(self, row: int, terms: Iterable[str]) -> Iterator[None]:
        """`add` in short steps: a page has tens of thousands of terms. Until the last one the index is half changed."""
        counts = terms if isinstance(terms, Counter) else Counter(terms)
        if not 0 <= row < MAX_ROWS or (row < len(self._lengths) and self._lengths[row]):
            raise ValueError(f"row {row} cannot be added")
        if row >= len(self._lengths):
            self._damping.extend([0.0] * (row + 1 - len(self._lengths)))
            self._lengths.extend([0] * (row + 1 - len(self._lengths)))
        length = min(counts.total(), _MAX_LENGTH)
        self._lengths[row] = length
        self._damping[row] = _FLAT + _SLOPE * min(length, LONGEST)
        self._documents += bool(counts)
        head = row << _COUNT_BITS
        postings = self._postings
        for done, (term, count) in enumerate(counts.items(), 1):
            entry = head | (count if count < _MAX_COUNT else _MAX_COUNT)
            known = postings.get(term)
            if known is None:
                postings[term] = array("I", (entry,))
            elif known[-1] < entry:
                known.append(entry)
            else:
                known.insert(bisect_left(known, entry), entry)
            self._entries += 1
            if not done % _STEP:
                yield

    def remove(self, row: int, terms: Iterable[str]) -> None:
        """Take out a row that was added with these terms: no trace of them stays, here or in a dump."""
        for _ in self.removing(row, terms):
            pass

    def removing(self, row: int, terms: Iterable[str]) -> Iterator[None]:
        """`remove` in short steps, as `adding`."""
        if row >= len(self._lengths) or not self._lengths[row]:
            return
        self._documents -= 1
        self._lengths[row] = 0
        first = row << _COUNT_BITS
        distinct = terms if isinstance(terms, Counter) else set(terms)
        for done, term in enumerate(distinct, 1):
            if not done % _STEP:
                yield
            known = self._postings.get(term)
            place = bisect_left(known, first) if known is not None else 0
            if known is None or place == len(known) or known[place] >> _COUNT_BITS != row:
                continue
            del known[place]
            self._entries -= 1
            if not known:
                del self._postings[term]

    @property
    def rows(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """Memory held, estimated: 4 bytes a posting with slack, and about 180 a distinct term."""
        return self._entries * 5 + len(self._postings) * 180 + len(self._lengths) * 6

    @property
    def documents(self) -> int:
        """Rows that have terms."""
        return self._documents

    def having(self, term: str) -> int:
        """Rows that have a term."""
        return len(self._postings.get(term, ()))

    def idf(self, term: str) -> float:
        """Inverse document frequency; that of a term never seen is the highest."""
        seen = self.having(term)
        return math.log1p((self._documents - seen + 0.5) / (seen + 0.5))

    def scores(self, terms: Sequence[str], rows: int) -> NDArray[np.float32]:
        """BM25 of rows 0..rows-1 divided by the idf mass of the question's terms: 0 to K1 + 1, and 1.0 is about
        "every term once". Terms never seen weigh too, so that a question about something unknown scores low."""
        result = np.zeros(rows, dtype=np.float32)
        mass = sum(self.idf(term) for term in terms)
        if mass <= 0.0 or not self._documents:
            return result
        damping = np.frombuffer(self._damping, dtype=np.float32)
        if len(terms) > _MANY_TERMS:
            return self._scores_of_many(terms, rows, mass)
        for term in terms:
            known = self._postings.get(term)
            if known is None:
                continue
            entries = np.frombuffer(known, dtype=np.uint32)
            found = entries >> _COUNT_BITS
            counts = (entries & _MAX_COUNT).astype(np.float32)
            saturation = counts + damping[found]
            result[found] += np.float32(self.idf(term) / mass * (K1 + 1.0)) * counts / saturation
        return result

    def _scores_of_many(self, terms: Sequence[str], rows: int, mass: float) -> NDArray[np.float32]:
        """The same scores, in a few passes over the postings of many terms instead of a few for each term."""
        result = np.zeros(rows, dtype=np.float32)
        damping = np.frombuffer(self._damping, dtype=np.float32)
        seen = [(term, known) for term in terms if (known := self._postings.get(term)) is not None]
        start = 0
        while start < len(seen):
            end, size = start, 0
            while end < len(seen) and size < _PASS:
                size += len(seen[end][1])
                end += 1
            part = seen[start:end]
            start = end
            entries = np.frombuffer(b"".join(known for _, known in part), dtype=np.uint32)
            weights = np.array([self.idf(term) / mass * (K1 + 1.0) for term, _ in part], dtype=np.float32)
            found = entries >> _COUNT_BITS
            counts = (entries & _MAX_COUNT).astype(np.float32)
            saturation = counts + damping[found]
            each = np.repeat(weights, [len(known) for _, known in part]) * counts / saturation
            result += np.bincount(found, each, minlength=rows).astype(np.float32)
        return result

    def terms_by_row(self) -> dict[int, dict[str, int]]:
        """Every row's terms with their counts, to compare two indexes; slow."""
        found: dict[int, dict[str, int]] = {}
        for term, entries in self._postings.items():
            for entry in entries:
                found.setdefault(entry >> _COUNT_BITS, {})[term] = entry & _MAX_COUNT
        return found

    def dump(self) -> Mapping[str, NDArray[np.generic]]:
        """The index as flat arrays, for a snapshot."""
        terms = list(self._postings)
        sizes = np.fromiter((len(self._postings[t]) for t in terms), dtype=np.uint32, count=len(terms))
        entries = np.empty(int(sizes.sum()), dtype=np.uint32)
        start = 0
        for term in terms:
            block = self._postings[term]
            entries[start : start + len(block)] = block
            start += len(block)
        return {
            "terms": np.frombuffer("\n".join(terms).encode(), dtype=np.uint8),
            "sizes": sizes,
            "entries": entries,
            "lengths": np.array(self._lengths, dtype=np.uint16),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[np.generic]]) -> KeywordIndex:
        """The index that `dump` wrote."""
        index = cls()
        joined = arrays["terms"].tobytes().decode()
        terms = joined.split("\n") if joined else []
        entries = arrays["entries"].tobytes()
        start = 0
        for term, size in zip(terms, arrays["sizes"].tolist(), strict=True):
            block = array("I")
            block.frombytes(entries[start : start + 4 * size])
            index._postings[term] = block
            start += 4 * size
        index._lengths.frombytes(arrays["lengths"].tobytes())
        damping = _FLAT + _SLOPE * np.minimum(arrays["lengths"].astype(np.float64), LONGEST)
        index._damping.frombytes(damping.astype(np.float32).tobytes())
        index._documents = int(np.count_nonzero(arrays["lengths"]))
        index._entries = len(entries) // 4
        return index
