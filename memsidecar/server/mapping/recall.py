"""Questions in, hits out."""

from __future__ import annotations

import weakref
from datetime import date, timedelta
from functools import lru_cache

from memsidecar.domain import limits
from memsidecar.domain.memory import Episode, Kind, Memory, State
from memsidecar.domain.recall import NO_FILTER, Filter, Hit, Question, Recalled, Tier, TierReport
from memsidecar.domain.revision import parse_revision, revision_token
from memsidecar.domain.scope import Partition, Scope
from memsidecar.server.mapping.memory_out import set_memory
from memsidecar.server.mapping.names import References, name_of
from memsidecar.server.mapping.values import length, micros_or_none, read_vectors, set_seconds
from memsidecar.server.validation import Violations
from memsidecar.services.turn import Turn
from memsidecar.v1 import memory_pb2
from memsidecar.v1 import recall_service_pb2 as pb

_EPOCH = date(1970, 1, 1)
_MICROS_OF_A_DAY = 24 * 3600 * 1_000_000
# strftime would answer in the language of the server's locale.
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def read_question(request: pb.RecallRequest | pb.RecallOnceRequest, scope: Scope, violations: Violations) -> Question:
    query, options = request.query, request.options
    references = References(scope.partition, violations)
    embedding = None
    if query.HasField("embedding"):
        embedding = read_vectors(query.embedding, "query.embedding", violations)
    min_revision = None
    if options.min_revision.token:
        min_revision = parse_revision(options.min_revision.token, scope.partition)
        if min_revision is None:
            violations.add("options.min_revision.token", f"is not a revision of {scope.partition.name}")
    return Question(
        scope=scope,
        text=query.text,
        embedding=embedding,
        entities=references.many(query.entities, "query.entities"),
        time=micros_or_none(query, "time"),
        tiers=frozenset(map(Tier, options.tiers)),
        filter=read_filter(options.filter, "options.filter", references) if options.HasField("filter") else NO_FILTER,
        max_hits=min(options.max_hits or limits.DEFAULT_HITS, limits.MAX_HITS),
        min_score=options.min_score,
        soft_deadline=length(options.soft_deadline) / 1_000_000 if options.HasField("soft_deadline") else None,
        min_revision=min_revision,
        explain=options.include_explanations,
        include_shared=options.include_shared,
    )


def read_filter(given: memory_pb2.MemoryFilter, path: str, references: References) -> Filter:
    return Filter(
        kinds=frozenset(map(Kind, given.kinds)),
        states=frozenset(map(State, given.states)),
        entities=references.many(given.entities, f"{path}.entities"),
        labels=dict(given.labels),
        min_created=micros_or_none(given, "min_create_time"),
        max_created=micros_or_none(given, "max_create_time"),
        min_said=micros_or_none(given, "min_said_time"),
        max_said=micros_or_none(given, "max_said_time"),
        min_importance=given.min_importance if given.HasField("min_importance") else None,
        min_confidence=given.min_confidence if given.HasField("min_confidence") else None,
        sessions=frozenset(given.sessions),
        exclude_sessions=frozenset(given.exclude_sessions),
    )


# Bytes of a message that is kept: 4,096 of them take at most 64 MB, each with its line of text.
_LARGEST_BUILT = 8_192


class Built:
    """Messages of memories that were recalled before: the same few are recalled again and again, and filling one takes
    ten times as long as copying it. One goes when its memory leaves the partition, so that a purge leaves nothing."""

    def __init__(self, most: int = 4_096) -> None:
        self._most = most
        self._found: dict[int, tuple[weakref.ref[Memory], memory_pb2.Memory, str]] = {}

    @property
    def count(self) -> int:
        return len(self._found)

    def put(self, target: pb.Hit, memory: Memory, now: int) -> None:
        key = id(memory)
        found = self._found.get(key)
        if found is None or found[0]() is not memory:
            set_memory(target.memory, memory, now)
            target.text = line(memory)
            # Whether a memory with an end has expired depends on when it is looked at.
            small = target.memory.ByteSize() <= _LARGEST_BUILT
            if small and memory.expires_at is None and len(self._found) < self._most:
                message = memory_pb2.Memory()
                message.CopyFrom(target.memory)
                self._found[key] = (weakref.ref(memory, lambda _: self._found.pop(key, None)), message, target.text)
            return
        target.memory.CopyFrom(found[1])
        target.text = found[2]


_BUILT = Built()


def set_hit(target: pb.Hit, hit: Hit, now: int) -> None:
    _BUILT.put(target, hit.memory, now)
    target.score = hit.score
    target.tier = pb.Tier.ValueType(hit.tier)
    if hit.components or hit.path:
        for part in hit.components:
            target.explanation.components.add(
                signal=part.signal, raw=part.raw, weight=part.weight, contribution=part.contribution
            )
        target.explanation.path.extend(hit.path)
        target.explanation.text = ", ".join(f"{part.signal} {part.contribution:.2f}" for part in hit.components)


def set_report(target: pb.TierReport, report: TierReport) -> None:
    target.tier = pb.Tier.ValueType(report.tier)
    target.outcome = pb.TierOutcome.ValueType(report.outcome)
    target.hit_count = report.hit_count
    set_seconds(target.elapsed, report.elapsed)
    target.message = report.message


async def once_response(recalled: Recalled, partition: Partition, now: int) -> pb.RecallOnceResponse:
    """The whole answer. The weakest hits are left out, and the answer is degraded, where it would not fit a message."""
    response = pb.RecallOnceResponse(degraded=recalled.degraded, confidence=recalled.confidence)
    response.revision.token = revision_token(partition, recalled.revision)
    for report in recalled.reports:
        set_report(response.tier_reports.add(), report)
    room = limits.MAX_MESSAGE_BYTES - response.ByteSize() - 1024
    turn = Turn()
    for hit in recalled.hits:
        await turn.give()
        target = response.hits.add()
        set_hit(target, hit, now)
        room -= target.ByteSize() + 8
        if room < 0:
            del response.hits[-1]
            response.degraded = True
            break
    return response


def summary_response(recalled: Recalled, partition: Partition) -> pb.RecallResponse:
    response = pb.RecallResponse()
    summary = response.summary
    summary.ranked_memories.extend(name_of(hit.partition, "memories", hit.memory.id) for hit in recalled.hits)
    summary.ranked_scores.extend(hit.score for hit in recalled.hits)
    for report in recalled.reports:
        set_report(summary.tier_reports.add(), report)
    summary.degraded = recalled.degraded
    summary.confidence = recalled.confidence
    summary.revision.token = revision_token(partition, recalled.revision)
    return response


def line(memory: Memory) -> str:
    """`[08 May 2023] Caroline: text`, on one line. No date when nobody said when; no name when nobody said who."""
    body = memory.body
    text = " ".join(memory.text.split())
    dated = memory.valid_from is not None
    if isinstance(body, Episode):
        text = f"{body.speaker}: {text}" if body.speaker else text
        dated = dated or body.start_time is not None
    if not dated:
        return text
    return f"{_day(memory.said_at // _MICROS_OF_A_DAY)} {text}"


@lru_cache(maxsize=4096)
def _day(days: int) -> str:
    day = _EPOCH + timedelta(days=days)
    return f"[{day.day:02d} {_MONTHS[day.month - 1]} {day.year:04d}]"
