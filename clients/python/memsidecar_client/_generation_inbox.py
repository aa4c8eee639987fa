"""What a generation has brought: the events that nobody has taken yet, and the memories that hold."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from memsidecar_client._defaults import INITIAL_CREDIT
from memsidecar_client._enums import RetractionReason
from memsidecar_client._generation_known import Known, known_of_hit, learned
from memsidecar_client._generation_values import GenerationEvent, Recalled, Retracted, Watermark
from memsidecar_client._memory_values import Memory
from memsidecar_client._recall_values import Hit
from memsidecar_client.v1.generation_service_pb2 import KnownMemory

# English has four characters a token and more, Chinese about three bytes: never fewer tokens than there are.
_BYTES_A_TOKEN = 3


class Inbox:
    """Bounded by the hits that the stream may send at all: of every other kind of event only the newest waits."""

    def __init__(self, known: Mapping[str, Known], allow: Callable[[int], None] | None) -> None:
        """`allow` is told of credit that has come free; None leaves credit to the application."""
        self._known = dict(known)
        self._allow = allow
        self._waiting: deque[GenerationEvent] = deque()
        self._held: dict[str, Hit] = {}
        # Retracted for good: never to be sent again.
        self._gone: set[str] = set()
        self._batch = 1
        self._taken = 0
        self._arrived = asyncio.Event()
        self._over = False
        self.credit = INITIAL_CREDIT
        self.recalled = 0
        self.retracted = 0
        self.tokens = 0
        """Of all hits so far, estimated, and not too low."""

    @property
    def held(self) -> dict[str, Hit]:
        """By name, in the order of arrival."""
        return self._held

    @property
    def told(self) -> dict[str, Known]:
        """What the application takes to hold, in the form that it has; what was sent comes first."""
        return {name: known_of_hit(hit) for name, hit in self._held.items()} | self._known

    @property
    def watched(self) -> bool:
        """Whether there is anything that may have to be taken back."""
        return bool(self._held or self._known)

    def knows(self, told: Iterable[KnownMemory]) -> None:
        """What the server takes to be known."""
        for each in told:
            if each.memory in self._known:
                self._known[each.memory] = learned(self._known[each.memory], each)

    def settle(self, initial_credit: int) -> None:
        """What the server has granted. Credit is renewed in halves of it: a message a hit would be many."""
        self.credit = initial_credit
        self._batch = max(1, initial_credit // 2)

    def seen(self) -> list[str]:
        """Names that another call must not send: what holds first, as the most important."""
        return [*self._held, *(name for name in sorted({*self._known, *self._gone}) if name not in self._held)]

    def found(self, event: Recalled) -> bool:
        """False for a memory that is here already, whose credit is given back."""
        name = event.hit.memory.name
        self.credit = max(0, self.credit - 1)
        if name in self._held or name in self._known:
            self._renew()
            return False
        self._held[name] = event.hit
        self._gone.discard(name)
        self.recalled += 1
        self.tokens += 1 + len(event.hit.text.encode()) // _BYTES_A_TOKEN
        self._put(event)
        return True

    def take_back(self, name: str, reason: RetractionReason, successor: Memory | None) -> None:
        hit = self._held.pop(name, None)
        if hit is None and name not in self._known:
            return
        self._known.pop(name, None)
        if reason is not RetractionReason.UPDATED:
            self._gone.add(name)
        self.retracted += 1
        self._put(Retracted(name, reason, successor, hit))

    def tell(self, event: GenerationEvent) -> None:
        """Any other event, of which only the newest of its kind matters."""
        for before in self._waiting:
            if type(before) is type(event):
                self._waiting.remove(before)
                break
        self._put(event)

    def rewound(self, seq: int) -> None:
        """A watermark that waits is not to speak of the text that will have the numbers after `seq`."""
        for place, event in enumerate(self._waiting):
            if isinstance(event, Watermark) and event.seq > seq:
                self._waiting[place] = replace(event, seq=seq)

    def end(self) -> None:
        self._over = True
        self._arrived.set()

    async def wait(self) -> None:
        """Until there is an event, or there will be none."""
        while not self._waiting and not self._over:
            self._arrived.clear()
            await self._arrived.wait()

    def take(self) -> GenerationEvent | None:
        """The oldest event, None when there is none; taking a memory allows another one."""
        if not self._waiting:
            return None
        event = self._waiting.popleft()
        if isinstance(event, Recalled):
            self._renew()
        return event

    def _put(self, event: GenerationEvent) -> None:
        self._waiting.append(event)
        self._arrived.set()

    def _renew(self) -> None:
        self._taken += 1
        if self._allow is not None and not self._over and self._taken >= self._batch:
            allowed, self._taken = self._taken, 0
            self.credit += allowed
            self._allow(allowed)
