"""Watching the changes of a scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager

from memsidecar.domain.errors import Overloaded
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Partition, Scope
from memsidecar.server.mapping.conflict_out import set_conflict
from memsidecar.server.mapping.memory_out import set_revision
from memsidecar.server.mapping.names import References, read_scope
from memsidecar.server.mapping.question import read_filter
from memsidecar.server.tokens import read_revision, revision_token
from memsidecar.server.validation import Violations, check
from memsidecar.services.watch import Alive, Behind, Changed, Contradicted, Watch, Watched
from memsidecar.v1 import watch_pb2 as pb


class Watching:
    """`max_per_namespace`: watches of one namespace that may be open."""

    def __init__(self, watch: Watch, default_namespace: str, now: Callable[[], int], max_per_namespace: int) -> None:
        self._watch, self._default_namespace, self._now = watch, default_namespace, now
        self._max_per_namespace = max_per_namespace
        self._open: Counter[str] = Counter()

    async def __call__(self, request: pb.WatchMemoriesRequest) -> AsyncGenerator[pb.WatchMemoriesResponse, None]:
        scope, wanted, after = self._read(request)
        with self._counted(scope.namespace):
            async with aclosing(self._watch(scope, wanted, after)) as events:
                async for event in events:
                    yield _response(event, scope.partition, self._now())

    def _read(self, request: pb.WatchMemoriesRequest) -> tuple[Scope, Filter, int | None]:
        violations = Violations(check(request))
        violations.raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        wanted = read_filter(request.filter, "filter", References(scope.partition, violations))
        after = read_revision(request.after.token, scope.partition, "after", violations)
        violations.raise_any()
        return scope, wanted, after

    @contextmanager
    def _counted(self, namespace: str) -> Iterator[None]:
        if self._open[namespace] >= self._max_per_namespace:
            raise Overloaded("limits.max_watches_per_namespace")
        self._open[namespace] += 1
        try:
            yield
        finally:
            self._open[namespace] -= 1
            if not self._open[namespace]:
                del self._open[namespace]


def _response(event: Watched, partition: Partition, now: int) -> pb.WatchMemoriesResponse:
    response = pb.WatchMemoriesResponse()
    response.revision.token = revision_token(partition, event.revision)
    match event:
        case Changed(entry=entry):
            set_revision(response.change, entry, now)
        case Contradicted(shown=shown):
            set_conflict(response.conflict, shown, partition)
        case Alive(caught_up=caught_up):
            response.heartbeat.SetInParent()
            response.heartbeat.caught_up = caught_up
        case Behind(pending=pending):
            response.behind.pending = pending
    return response
