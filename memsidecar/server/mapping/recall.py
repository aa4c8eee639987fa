"""Hits out."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache

from memsidecar.domain import limits
from memsidecar.domain.memory import Episode, Memory
from memsidecar.domain.recall import Hit, HitStanding, MessageHit, Recalled, TierReport, Understanding
from memsidecar.domain.scope import Partition
from memsidecar.domain.usage import Usage
from memsidecar.server.mapping.memory_out import UsageOf, set_memory, set_usage
from memsidecar.server.mapping.names import name_of, names_of
from memsidecar.server.mapping.sessions import set_message
from memsidecar.server.mapping.values import set_seconds, set_time, varint
from memsidecar.server.tokens import revision_token
from memsidecar.services.turn import Turn
from memsidecar.v1 import memory_pb2
from memsidecar.v1 import recall_service_pb2 as pb

_EPOCH = date(1970, 1, 1)
_MICROS_OF_A_DAY = 24 * 3600 * 1_000_000
# strftime would answer in the language of the server's locale.
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


# Bytes of a hit that is kept: as many as are kept take at most 64 MB, usually 5 MB.
_LARGEST_BUILT = 8_192


class Built:
    """Hits of memories that were recalled before, as the bytes of their message without place and score: the same few
    are recalled again and again, and filling one takes ten times as long as copying it. One goes when its memory leaves
    the partition, so that a purge leaves nothing, or when it was not recalled for longest."""

    def __init__(self, most: int = 8_192) -> None:
        self._most = most
        self._found: dict[int, tuple[weakref.ref[Memory], bytes]] = {}

    @property
    def count(self) -> int:
        return len(self._found)

    def encoded(self, memory: Memory, now: int) -> bytes:
        """A `Hit` of the memory and its line of text alone."""
        key = id(memory)
        found = self._found.pop(key, None)
        if found is not None and found[0]() is memory:
            self._found[key] = found  # the order is the order of use
            return found[1]
        hit = pb.Hit(text=line(memory))
        set_memory(hit.memory, memory, now)
        data = hit.SerializeToString()
        # Whether a memory with an end has expired depends on when it is looked at.
        if len(data) <= _LARGEST_BUILT and memory.expires_at is None:
            if len(self._found) >= self._most:
                del self._found[next(iter(self._found))]
            self._found[key] = (weakref.ref(memory, lambda _: self._found.pop(key, None)), data)
        return data


_BUILT = Built()


def set_hit(target: pb.Hit, hit: Hit, now: int, usage: Usage) -> None:
    target.MergeFromString(_BUILT.encoded(hit.memory, now))
    _set_place(target, hit, usage)


def set_message_hit(target: pb.MessageHit, hit: MessageHit) -> None:
    set_message(target.message, hit.message)
    target.score = hit.score


def _set_place(target: pb.Hit, hit: Hit, usage: Usage) -> None:
    """All of a hit that is not its memory's own."""
    set_usage(target.memory, usage)
    target.score = hit.score
    target.confidence = hit.confidence
    if hit.duplicates:
        target.duplicates.extend(name_of(partition, "memories", memory) for partition, memory in hit.duplicates)
    if hit.suspicious:
        target.suspicious = True
    for standing in hit.standings:
        _set_standing(target.standings.add(), standing, hit.partition)
    if hit.counterpart_of:
        target.counterpart_of = name_of(hit.partition, "memories", hit.counterpart_of)
    target.tier = pb.Tier.ValueType(hit.tier)
    if hit.components or hit.path:
        for part in hit.components:
            target.explanation.components.add(
                signal=part.signal, raw=part.raw, weight=part.weight, contribution=part.contribution
            )
        target.explanation.path.extend(hit.path)
        target.explanation.text = ", ".join(f"{part.signal} {part.contribution:.2f}" for part in hit.components)


def _set_standing(target: pb.HitStanding, standing: HitStanding, partition: Partition) -> None:
    target.memory = name_of(partition, "memories", standing.memory_id)
    target.state = memory_pb2.MemoryState.ValueType(standing.state)
    target.text = standing.text
    if standing.superseded_by:
        target.superseding_memory = name_of(partition, "memories", standing.superseded_by)
    if standing.conflict_id:
        target.conflict = name_of(partition, "conflicts", standing.conflict_id)
    target.counterparts.extend(names_of(partition, standing.counterparts))


def set_report(target: pb.TierReport, report: TierReport) -> None:
    target.tier = pb.Tier.ValueType(report.tier)
    target.outcome = pb.TierOutcome.ValueType(report.outcome)
    if report.hit_count:
        target.hit_count = report.hit_count
    set_seconds(target.elapsed, report.elapsed)
    if report.message:
        target.message = report.message


_HIT_TAG = bytes((pb.RecallOnceResponse.HITS_FIELD_NUMBER << 3 | 2,))


def once_response(recalled: Recalled, partition: Partition) -> pb.RecallOnceResponse:
    """The answer without its hits. Of messages that take more than half of what an answer may, the weakest are left
    out, and it is degraded."""
    response = pb.RecallOnceResponse(degraded=recalled.degraded, confidence=recalled.confidence)
    response.revision.token = revision_token(partition, recalled.revision)
    for report in recalled.reports:
        set_report(response.tier_reports.add(), report)
    if recalled.understanding is not None:
        _set_analysis(response.analysis, recalled.understanding, partition)
    room = limits.MAX_PAGE_BYTES
    for message in recalled.messages:
        added = response.messages.add()
        set_message_hit(added, message)
        room -= added.ByteSize() + 8
        if room < 0:
            del response.messages[-1]
            response.degraded = True
            break
    return response


def _set_analysis(target: pb.QueryAnalysis, found: Understanding, partition: Partition) -> None:
    target.people.extend(found.people)
    target.entities.extend(names_of(partition, found.entities))
    if found.start is not None:
        set_time(target.min_time, found.start)
    if found.end is not None:
        set_time(target.max_time, found.end)
    target.language = found.language
    target.breadth = found.breadth
    target.rewritten_text = found.rewritten


async def with_hits(
    response: pb.RecallOnceResponse, recalled: Recalled, now: int, usage_of: UsageOf, page_after: Callable[[int], str]
) -> bytes:
    """The bytes of the whole answer. The weakest hits are left out, and it is degraded, where it would not fit a
    message; they are on the next page. `page_after` gives the token of the page after so many of the hits.

    Messages one after the other are one message with the fields of all: so what is kept of a hit need not be parsed,
    copied and written again each time.
    """
    parts: list[bytes] = []
    room = limits.MAX_MESSAGE_BYTES - response.ByteSize() - 1024
    turn = Turn()
    fitting = 0
    for hit in recalled.hits:
        await turn.give()
        kept, place = _BUILT.encoded(hit.memory, now), pb.Hit()
        _set_place(place, hit, usage_of(hit.partition, hit.memory.id))
        own = place.SerializeToString()
        size = len(kept) + len(own)
        room -= size + 8
        if room < 0:
            response.degraded = True
            break
        parts += (_HIT_TAG, varint(size), kept, own)
        fitting += 1
    if recalled.more or fitting < len(recalled.hits):
        response.next_page_token = page_after(fitting)
    return b"".join((response.SerializeToString(), *parts))


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
    if recalled.understanding is not None:
        _set_analysis(summary.analysis, recalled.understanding, partition)
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
