"""Recall during generation: the streams that are open, how many may be, and how they end with the process."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from memsidecar.domain.errors import Draining, Overloaded, StoreUnavailable
from memsidecar.ports.metrics import Kind, Metric
from memsidecar.ports.runtime import Ids
from memsidecar.ports.sessions import SessionKey
from memsidecar.services.following import Following, Opening, Parts

_log = logging.getLogger(__name__)


class RecallDuring:
    """`max_streams` of one namespace may be open; how many in total is the server's to say, before it reads any."""

    def __init__(self, parts: Parts, ids: Ids, max_streams: int) -> None:
        self._parts, self._ids, self._max_streams = parts, ids, max_streams
        self._open: set[Following] = set()
        self._of_namespace: Counter[str] = Counter()
        self._draining = False

    def metrics(self) -> Sequence[Metric]:
        waiting = Metric(
            "memsidecar_generation_evaluations_waiting",
            Kind.GAUGE,
            "Searches for what a model writes that wait for a turn, in all streams.",
            lambda: [((), self._parts.evaluations.waiting)],
        )
        return (*self._parts.counts.metrics(), waiting)

    async def open(self, opening: Opening) -> tuple[Following, int]:
        """Follow a generation; it, and the revision that the memory has. Who opens it closes it.

        Raises Draining, Overloaded, InvalidField (an unknown profile), RevisionUnknown, NotFound and SessionEnded (the
        session), StoreUnavailable, LedgerDamaged.
        """
        namespace = opening.question.scope.namespace
        if self._draining:
            raise Draining
        if self._of_namespace[namespace] >= self._max_streams:
            raise Overloaded("generation.max_streams_per_namespace")
        following = Following(opening, self._ids.new(), self._parts, self._closed)
        self._open.add(following)
        self._of_namespace[namespace] += 1
        try:
            if opening.session:
                await self._hear(following, SessionKey(opening.question.scope.partition, opening.session))
            revision = await following.start()
        except BaseException:
            await following.close()
            raise
        return following, revision

    def drain(self, grace: float) -> None:
        """Open no more; those that are open are told, and end within `grace` seconds."""
        self._draining = True
        for following in self._open:
            following.leave(grace)

    async def _hear(self, following: Following, key: SessionKey) -> None:
        """What the session holds, and what it is given from now on by this process, need not be recalled."""
        try:
            await self._parts.keep.require_open(key)
            following.unheard.append(self._parts.keep.listen(key, following.heard))
            following.heard(await self._parts.keep.said(key))
        except StoreUnavailable as error:
            # Long-term memory does not depend on it; a finish that needs it will say so.
            _log.warning("a generation's session could not be looked up", extra={"problem": str(error)})

    def _closed(self, following: Following) -> None:
        if following not in self._open:
            return
        self._open.discard(following)
        namespace = following.opening.question.scope.namespace
        self._of_namespace[namespace] -= 1
        if not self._of_namespace[namespace]:
            del self._of_namespace[namespace]
        _log.debug(
            "generation ended",
            extra={
                "stream": following.stream_id,
                "generation": following.opening.generation_id,
                "namespace": namespace,
            },
        )
