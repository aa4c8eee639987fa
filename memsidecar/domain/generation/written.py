"""The streamed text: pieces put together, with where each delta ends, so that the end of it can be taken back."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from memsidecar.domain.errors import InvalidField, ProtocolViolation
from memsidecar.domain.generation.values import MAX_DELTA_BYTES, MAX_SOURCE_CHANGES, MAX_STREAM_BYTES, Source

# Pieces are joined when there are this many code points of them: a string for each token would take fifty bytes more.
_BLOCK = 1024


class Written:
    """What stands of the text, all of it, because a rewind may go back to the beginning and the end may ask for what
    the model said. Besides the text itself, at most 1 MiB, it takes 12 bytes a delta that is not empty."""

    def __init__(self, first_seq: int) -> None:
        self.first_seq = first_seq
        self.last_seq = first_seq - 1
        self.length = 0
        self._bytes = 0
        # Of deltas that are not empty: there is no end to those that are.
        self._seqs = array("q")
        self._ends = array("I")
        # Where the source changes.
        self._run_starts = array("I")
        self._run_sources = array("B")
        self._blocks: list[str] = []
        self._block_starts = array("I")
        self._pieces: list[str] = []
        self._pieces_start = 0

    def append(self, seq: int, text: str, source: Source) -> None:
        """The next delta. Raises ProtocolViolation when it is not the next, InvalidField when it is too long or
        the source has changed too often."""
        if seq != self.last_seq + 1:
            raise ProtocolViolation(f"text.seq {self.last_seq + 1}", str(seq))
        size = _size(text)
        if size > MAX_DELTA_BYTES:
            raise InvalidField("text.text", f"is longer than {MAX_DELTA_BYTES:,} bytes of UTF-8")
        if self._bytes + size > MAX_STREAM_BYTES:
            raise InvalidField("text.text", f"makes the stream longer than {MAX_STREAM_BYTES:,} bytes; open another")
        another = bool(text) and (not self._run_sources or self._run_sources[-1] != source)
        if another and len(self._run_sources) >= MAX_SOURCE_CHANGES:
            raise InvalidField("text.source", f"has changed {MAX_SOURCE_CHANGES:,} times; open another stream")
        self.last_seq = seq
        if not text:
            return
        if another:
            self._run_starts.append(self.length)
            self._run_sources.append(source)
        self._bytes += size
        self.length += len(text)
        self._seqs.append(seq)
        self._ends.append(self.length)
        self._pieces.append(text)
        if self.length - self._pieces_start >= _BLOCK:
            self._close_block()

    def check_rewind(self, seq: int) -> None:
        """Raises ProtocolViolation when there is no such place."""
        if not self.first_seq - 1 <= seq <= self.last_seq:
            raise ProtocolViolation(f"rewind.seq from {self.first_seq - 1} to {self.last_seq}", str(seq))

    def rewind(self, seq: int) -> int:
        """Drops what came after `seq`; the length that is left."""
        self.check_rewind(seq)
        self.last_seq = seq
        kept = bisect_right(self._seqs, seq)
        length = self._ends[kept - 1] if kept else 0
        if length == self.length:
            return length
        self._bytes -= _size(self.slice(length, self.length))
        del self._seqs[kept:], self._ends[kept:]
        runs = bisect_left(self._run_starts, length)
        del self._run_starts[runs:], self._run_sources[runs:]
        self._cut(length)
        self.length = length
        return length

    def slice(self, start: int, end: int) -> str:
        """What stands between two places."""
        if start >= end:
            return ""
        if end > self._pieces_start and len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        found: list[str] = []
        at = bisect_right(self._block_starts, start) - 1 if start < self._pieces_start else len(self._blocks)
        while at < len(self._blocks) and self._block_starts[at] < end:
            first = self._block_starts[at]
            found.append(self._blocks[at][max(0, start - first) : end - first])
            at += 1
        if end > self._pieces_start:
            found.append(self._pieces[0][max(0, start - self._pieces_start) : end - self._pieces_start])
        return "".join(found)

    def seq_at(self, place: int) -> int:
        """The last delta of which nothing stands after `place`."""
        following = bisect_right(self._ends, place)
        return self._seqs[following] - 1 if following < len(self._seqs) else self.last_seq

    def delta_before(self, place: int) -> int:
        """The delta that the code point before `place` (1 or more) came with."""
        return self._seqs[bisect_left(self._ends, place)]

    def runs(self, *sources: Source) -> list[tuple[Source, str]]:
        """The text of these sources, in order: what came from one of them until another one came."""
        whole = self.slice(0, self.length)
        ends = [*self._run_starts[1:], self.length]
        runs = zip(self._run_starts, ends, self._run_sources, strict=True) if self._run_sources else ()
        return [(Source(source), whole[start:end]) for start, end, source in runs if source in sources]

    def _close_block(self) -> None:
        self._blocks.append("".join(self._pieces))
        self._block_starts.append(self._pieces_start)
        self._pieces, self._pieces_start = [], self.length

    def _cut(self, length: int) -> None:
        while length < self._pieces_start:
            self._pieces, self._pieces_start = [self._blocks.pop()], self._block_starts.pop()
        self._pieces = ["".join(self._pieces)[: length - self._pieces_start]] if length > self._pieces_start else []


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
