"""What can happen to a stream: its events, and the memories that change beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st

from memsidecar.domain.generation.values import Candidate, Reason, Source
from tests.domain.generation.making import candidate

MEMORIES = [f"m{number}" for number in range(5)]
# Memories share texts, so that some say the same.
TEXTS = ["Anna lives in Bonn.", "anna lives in bonn", "Bo has a cat.", "记忆", "It rained."]
DELTAS = [
    "Bo has",
    " a cat. ",
    " 记忆",
    "He",
    " left. ",
    "3.",
    "14",
    "我住在北京。",
    "🙂",
    "",
    " \n",
    "...",
    " Anna",
    "x" * 30,
    "(long)",
]
LONG = "Wort " * 1200
Found: TypeAlias = tuple[str, float, int]
Event: TypeAlias = tuple[object, ...]

_names = st.sampled_from(MEMORIES)
_texts = st.sampled_from(DELTAS)
_found: st.SearchStrategy[list[Found]] = st.lists(
    st.tuples(_names, st.sampled_from([0.1, 0.5, 0.9]), st.integers(1, 20)),
    max_size=5,
    unique_by=lambda found: found[0],
)
_write = st.tuples(st.just("write"), _texts, _found, _found)
_change = st.tuples(st.just("change"), _names, st.sampled_from(Reason), st.sampled_from(TEXTS))
EVENTS: st.SearchStrategy[Event] = st.one_of(
    _write,
    _write,
    st.tuples(st.just("text"), _texts, st.sampled_from(Source)),
    st.tuples(st.just("search"), _found),
    st.tuples(st.just("answer"), st.booleans() | st.just(True), st.booleans()),
    _change,
    _change,
    st.tuples(st.just("undelete"), _names),
    st.tuples(st.just("rewind"), st.integers(0, 4) | st.just(1000)),
    st.tuples(st.just("credit"), st.integers(1, 3)),
    st.tuples(st.just("wait"), st.sampled_from([0.01, 0.3, 6.0])),
    st.tuples(st.sampled_from(["flush", "flush and wait", "finish"]), st.none()),
    st.tuples(st.just("mistake"), st.sampled_from([0, 2, -1]), st.sampled_from([0, 1001])),
)


@dataclass
class Store:
    """The memories as they are now: version, text, and whether they are there."""

    versions: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MEMORIES, 1))
    texts: dict[str, str] = field(default_factory=lambda: {m: TEXTS[i % len(TEXTS)] for i, m in enumerate(MEMORIES)})
    gone: set[str] = field(default_factory=set)

    def read(self, found: list[Found]) -> list[Candidate]:
        """What a search would find now; it knows of those that say the same only among what it finds."""
        there = [each for each in found if each[0] not in self.gone]
        return [self._read(*each, [name for name, _, _ in there if name != each[0]]) for each in there]

    def _read(self, name: str, confidence: float, tokens: int, others: list[str]) -> Candidate:
        same = tuple(each for each in others if fold(self.texts[each]) == fold(self.texts[name]))
        return candidate(name, confidence, tokens, self.texts[name], self.versions[name], same)


def fold(text: str) -> str:
    return text.lower().rstrip(".")
