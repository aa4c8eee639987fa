"""What a client knows about its own writes: what was acknowledged, and what is in doubt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memsidecar_client import Memory, MemoryState

GONE = None
"""The content of a memory that has been purged."""

Content = tuple[str, bool] | None
"""A memory's text and whether it is deleted; GONE after a purge."""


def content_of(memory: Memory) -> Content:
    return memory.text, memory.state is MemoryState.DELETED


@dataclass
class Doubt:
    """A write without an answer. Either none of it happened or all of it: `texts` are the memories that it makes,
    `changes` the contents that it gives to known ones."""

    kind: str
    request_id: str
    texts: tuple[str, ...] = ()
    changes: Mapping[str, Content] = field(default_factory=dict)


@dataclass
class Known:
    """One client's memories by name, acknowledged; and its writes in doubt."""

    memories: dict[str, Content] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    messages_in_doubt: tuple[str, ...] = ()
    counter: int = 0

    def problems(self, stored: Mapping[str, Content]) -> list[str]:
        """What is wrong with what a store holds of this client's memories, by name."""
        found = []
        doubtful = {name: change for doubt in self.doubts for name, change in doubt.changes.items()}
        for name, content in self.memories.items():
            allowed = {content, doubtful.get(name, content)}
            if stored.get(name, GONE) not in allowed:
                found.append(f"{name}: {stored.get(name, GONE)} instead of {allowed}")
        texts = [content[0] for name, content in stored.items() if content and name not in self.memories]
        for doubt in self.doubts:
            there = [text for text in doubt.texts if text in texts]
            if there and len(there) != len(doubt.texts):
                found.append(f"{doubt.kind} in doubt is half there: {len(there)} of {len(doubt.texts)}")
            texts = [text for text in texts if text not in doubt.texts]
        return found + [f"nobody wrote {text!r}" for text in texts]

    def message_problems(self, stored: list[str]) -> list[str]:
        allowed = (self.messages, [*self.messages, *self.messages_in_doubt])
        if stored in allowed:
            return []
        return [f"the session ends with {stored[-3:]}, not {self.messages[-3:]} or {self.messages_in_doubt}"]
