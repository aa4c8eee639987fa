"""Made-up memories that behave like real ones: topics with their own words and a neighbourhood of vectors, some names.

Everything follows from a block's number, so nothing is kept, and two runs store the same memories.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from memsidecar.v1 import memory_pb2, memory_service_pb2, recall_service_pb2, scope_pb2

DIMENSIONS = 384
BATCH = 256
HITS = 10
TOPICS = 500
NAMESPACE = "bench"

_WORDS = 20_000
_NAMES = 2_000
_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


class Dataset:
    """Memories and questions. Word frequencies follow Zipf; a third of the texts name somebody."""

    def __init__(self, seed: int = 7) -> None:
        self._seed = seed
        rng = np.random.default_rng(seed)
        self._words = _made_up(rng, _WORDS)
        parts = [word.capitalize() for word in _made_up(rng, 2 * _NAMES)]
        self._names = [f"{first} {last}" for first, last in zip(parts[::2], parts[1::2], strict=True)]
        self._frequency = 1.0 / np.arange(10, _WORDS + 10)
        self._frequency /= self._frequency.sum()
        self._topic_words = rng.integers(0, _WORDS, (TOPICS, 40))
        self._centres = _unit(rng.standard_normal((TOPICS, DIMENSIONS), dtype=np.float32))

    def items(self, block: int, count: int = BATCH) -> list[memory_service_pb2.RememberItem]:
        """The memories of a block, vectors included."""
        texts, vectors = self.block(block, count)
        return [
            memory_service_pb2.RememberItem(text=text, embedding=embedding(vector))
            for text, vector in zip(texts, vectors, strict=True)
        ]

    def block(self, block: int, count: int = BATCH) -> tuple[list[str], NDArray[np.float32]]:
        """The texts of a block's memories, no two alike in all blocks, and their vectors, one a row."""
        rng = np.random.default_rng((self._seed, block))
        topics = rng.integers(0, TOPICS, count)
        vectors = self._near(rng, topics)
        common = rng.choice(_WORDS, (count, 10), p=self._frequency)
        own = rng.integers(0, 40, (count, 4))
        names = rng.zipf(1.3, count) % _NAMES
        named = rng.random(count) < 1 / 3
        texts = []
        for i in range(count):
            words = [self._words[w] for w in (*common[i], *self._topic_words[topics[i]][own[i]])]
            text = f"{words[0]} {' '.join(words[1:])} {block}-{i}."
            if named[i]:
                text = f"{self._names[names[i]]} said that {text}"
            texts.append(text)
        return texts, vectors

    def questions(self, count: int, words: bool) -> list[tuple[str, NDArray[np.float32]]]:
        """(text, vector) pairs near the memories; the text is empty without `words`."""
        rng = np.random.default_rng((self._seed, 1 << 40))
        topics = rng.integers(0, TOPICS, count)
        vectors = self._near(rng, topics)
        common = rng.choice(_WORDS, (count, 4), p=self._frequency)
        own = rng.integers(0, 40, (count, 3))
        texts = [
            " ".join(self._words[w] for w in (*common[i], *self._topic_words[topics[i]][own[i]])) for i in range(count)
        ]
        return list(zip(texts if words else [""] * count, vectors, strict=True))

    def _near(self, rng: np.random.Generator, topics: NDArray[np.int64]) -> NDArray[np.float32]:
        """Vectors whose cosine with others of their topic is about 0.5."""
        noise = _unit(rng.standard_normal((len(topics), DIMENSIONS), dtype=np.float32))
        return _unit(self._centres[topics] + noise)


def batches(data: Dataset, user: str, first: int, memories: int) -> Iterator[memory_service_pb2.BatchRememberRequest]:
    """Requests of 256 that store so many memories; each is a session of its own."""
    for block in range(-(-memories // BATCH)):
        count = min(BATCH, memories - block * BATCH)
        yield memory_service_pb2.BatchRememberRequest(
            scope=scope(user, f"s{first + block}"), items=data.items(first + block, count)
        )


def recall_request(user: str, text: str, vector: NDArray[np.float32]) -> recall_service_pb2.RecallOnceRequest:
    return recall_service_pb2.RecallOnceRequest(
        scope=scope(user),
        query=recall_service_pb2.Query(text=text, embedding=embedding(vector)),
        options=recall_service_pb2.RecallOptions(max_hits=HITS),
    )


def scope(user: str, session: str = "") -> scope_pb2.Scope:
    return scope_pb2.Scope(namespace=NAMESPACE, user=user, session=session)


def embedding(vector: NDArray[np.float32]) -> memory_pb2.Embedding:
    # The packed field's bytes are the array's: a client in another language would not pay Python's price for a list.
    return memory_pb2.Embedding.FromString(_HEAD + vector.astype("<f4").tobytes())


def _packed_head() -> bytes:
    number = memory_pb2.Embedding.DESCRIPTOR.fields_by_name["values"].number
    size = 4 * DIMENSIONS
    return bytes([number << 3 | 2, size & 0x7F | 0x80, size >> 7])


_HEAD = _packed_head()
assert len(memory_pb2.Embedding.FromString(_HEAD + struct.pack(f"<{DIMENSIONS}f", *[1.0] * DIMENSIONS)).values)


def _made_up(rng: np.random.Generator, count: int) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < count:
        picked = rng.integers(0, len(_SYLLABLES), int(rng.integers(2, 5)))
        words["".join(_SYLLABLES[s] for s in picked)] = None
    return list(words)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
