"""What has been written during a generation, and what of it the server has still to be told. Pure: no clock, no I/O."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from memsidecar_client._defaults import (
    GENERATION_KEEPALIVE,
    GENERATION_PIECE_BYTES,
    GENERATION_PIECE_DELAY,
    GENERATION_TEXT_BYTES,
)
from memsidecar_client._enums import TextSource
from memsidecar_client.v1.generation_service_pb2 import (
    Credit,
    Flush,
    GenerationFinish,
    RecallDuringRequest,
    Rewind,
    TextDelta,
)
from memsidecar_client.v1.generation_service_pb2 import TextSource as WireSource

# Only about when to send: a mark that turns out to end no sentence costs a message, no more.
_SENTENCE_END = re.compile(r"""[。！？…!?؟।.\n]["'”’»」』）)\]]*\s*\Z""")

# Of UTF-8 a code point; a text cut at this many code points fits whatever it is written in.
_WIDEST = 4


@dataclass(slots=True)
class _Piece:
    """One delta. `end` counts code points from the beginning of all text."""

    text: str
    source: TextSource
    end: int


class Script:
    """Small texts are joined to pieces, numbered from 1; a piece is cut when it is due, and only when it can be sent.

    What waits is therefore bounded by the text itself, however slowly it is sent: credit, rewinds and flushes that have
    not been sent yet become one.
    """

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []
        # Not cut yet: texts of one source, or of several.
        self._loose: deque[tuple[str, TextSource]] = deque()
        self._loose_since = 0.0
        self._length = 0
        self._size = 0
        self._sent = 0
        self._sent_at = float("-inf")
        self._pause = 0.0
        self._said_at = float("-inf")
        self.keepalive = GENERATION_KEEPALIVE
        """Seconds of silence after which a stream that is watched says that it is there, by a flush of nothing."""
        self._rewind: int | None = None
        # Rewind messages of the calls before this one.
        self._rewinds_before = 0
        self.rewinds = 0
        """Rewind messages of all calls, with the one that waits."""
        self._credit = 0
        self._flush = False
        self._finish: GenerationFinish | None = None
        self._finish_sent = False
        # Pieces up to here were sent again to a call that replaces another, joined, each with the seq it ends at.
        self._joined: list[int] = []
        self.replace_call = False
        """Only another call can express the last rewind."""

    @property
    def seq(self) -> int:
        """Of the last piece that was cut."""
        return len(self._pieces)

    @property
    def waits(self) -> bool:
        """Whether the server has still to be told of anything."""
        told = self._sent == self.seq and not self._loose and self._finish is None and not self._flush
        return not told or self._rewind is not None

    @property
    def length(self) -> int:
        """Code points of all text."""
        return self._length

    @property
    def too_long(self) -> bool:
        """The server would refuse it, and waiting for a server must not fill the memory."""
        return self._size > GENERATION_TEXT_BYTES

    def feed(self, text: str, source: TextSource, now: float) -> None:
        """Raises UnicodeEncodeError, a ValueError, for half a surrogate pair."""
        if not text:
            return
        self._size += len(text.encode())
        if not self._loose:
            self._loose_since = now
        self._loose.append((text, source))
        self._length += len(text)

    def flush(self) -> int:
        """Wants everything considered; the seq that a watermark then has to reach."""
        self._cut()
        self._flush = True
        return self.seq

    def allow(self, hits: int) -> None:
        """More credit."""
        self._credit += hits

    def finish(self, message: GenerationFinish) -> None:
        self._cut()
        self._finish, self._finish_sent = message, False

    def slow_down(self, pause: float) -> None:
        """At least `pause` seconds between pieces from now on."""
        self._pause = pause

    def rewind(self, seq: int) -> None:
        """Drops all text after that piece. Raises ValueError when there is no such piece."""
        if not 0 <= seq <= self.seq:
            raise ValueError(f"cannot rewind to seq {seq}: the last piece of text is {self.seq}")
        self._loose.clear()
        del self._pieces[seq:]
        self._length = self._pieces[-1].end if self._pieces else 0
        self._size = sum(len(piece.text.encode()) for piece in self._pieces)
        if seq < self._sent:
            self.replace_call = self.replace_call or seq < self._last_joined
            self.rewinds += self._rewind is None
            self._rewind, self._sent = seq, seq

    def rewind_to(self, length: int, now: float) -> int:
        """Drops all text after that many code points, inside a piece, too; the seq that is left."""
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot rewind to {length} code points: there are {self._length}")
        if length == self._length:
            return self.seq
        self._cut()
        kept = sum(piece.end <= length for piece in self._pieces)
        broken = self._pieces[kept]
        begun = self._pieces[kept - 1].end if kept else 0
        self.rewind(kept)
        self.feed(broken.text[: length - begun], broken.source, now)
        return kept

    def began(self, now: float) -> None:
        """A call has been told all that was there."""
        self._said_at = now

    def next(self, now: float, watched: bool = False) -> RecallDuringRequest | None:
        """The next message, counted as sent; None when nothing is due. After finish the server takes none: memories
        that come then, on their way before, make credit that nobody needs."""
        message = self._next(now)
        if message is None and watched and not self._finish_sent and now >= self._said_at + self.keepalive:
            message = RecallDuringRequest(flush=Flush())
        if message is not None:
            self._said_at = now
        return message

    def _next(self, now: float) -> RecallDuringRequest | None:
        if self._finish_sent:
            return None
        if self._rewind is not None:
            seq, self._rewind = self._rewind, None
            return RecallDuringRequest(rewind=Rewind(seq=seq))
        if self._credit:
            hits, self._credit = min(self._credit, 1000), max(self._credit - 1000, 0)
            return RecallDuringRequest(credit=Credit(hits=hits))
        due = self._text_due()
        if due is not None and due <= now:
            self._cut()
        if self._sent < self.seq:
            self._sent += 1
            self._sent_at = now
            return _delta(self._sent, self._pieces[self._sent - 1])
        if self._flush:
            self._flush = False
            return RecallDuringRequest(flush=Flush())
        if self._finish is not None:
            message, self._finish, self._finish_sent = self._finish, None, True
            return RecallDuringRequest(finish=message)
        return None

    def due(self, watched: bool = False) -> float | None:
        """When `next` has something to give if nothing else happens; None: not at all."""
        if self._finish_sent:
            return None
        text = self._text_due()
        if not watched:
            return text
        life = self._said_at + self.keepalive
        return life if text is None else min(text, life)

    def replay(self, flush: bool) -> tuple[int, list[RecallDuringRequest]]:
        """For a call that replaces another: the seq of its first delta, and all text that is cut, in few messages.

        Credit that was not sent is forgotten: the start of the call grants all there is. `flush` asks for one again.
        """
        runs: list[tuple[str, TextSource, int]] = []
        size = 0
        for seq, piece in enumerate(self._pieces, start=1):
            width = len(piece.text.encode())
            if runs and runs[-1][1] is piece.source and size + width <= GENERATION_PIECE_BYTES:
                runs[-1] = (runs[-1][0] + piece.text, piece.source, seq)
                size += width
            else:
                runs.append((piece.text, piece.source, seq))
                size = width
        self._joined = [end for _, _, end in runs]
        self._sent, self._rewinds_before = self.seq, self.rewinds
        self._rewind, self._credit, self._flush, self.replace_call = None, 0, flush, False
        first = self.seq - len(runs) + 1
        return first, [_delta(seq, _Piece(text, source, 0)) for seq, (text, source, _) in enumerate(runs, start=first)]

    def own_seq(self, seq: int) -> int:
        """The number that a piece has here; the server counts those that were joined for it in another way."""
        offset = seq - (self._last_joined - len(self._joined)) - 1
        return self._joined[offset] if 0 <= offset < len(self._joined) else seq

    def own_rewinds(self, rewinds: int) -> int:
        """What `rewinds` was after so many of this call, which the server counts alone."""
        return self._rewinds_before + rewinds

    @property
    def _last_joined(self) -> int:
        return self._joined[-1] if self._joined else 0

    def _text_due(self) -> float | None:
        if not self._loose:
            return None
        ends = bool(_SENTENCE_END.search(self._loose[-1][0]))
        return max(self._loose_since + (0.0 if ends else GENERATION_PIECE_DELAY), self._sent_at + self._pause)

    def _cut(self) -> None:
        end = self._pieces[-1].end if self._pieces else 0
        for text, source in self._joined_loose():
            end += len(text)
            self._pieces.append(_Piece(text, source, end))

    def _joined_loose(self) -> Iterator[tuple[str, TextSource]]:
        while self._loose:
            text, source = self._loose.popleft()
            parts = [text]
            while self._loose and self._loose[0][1] is source:
                parts.append(self._loose.popleft()[0])
            text = "".join(parts)
            step = GENERATION_PIECE_BYTES // _WIDEST if len(text.encode()) > GENERATION_PIECE_BYTES else len(text)
            for start in range(0, len(text), step):
                yield text[start : start + step], source


def _delta(seq: int, piece: _Piece) -> RecallDuringRequest:
    return RecallDuringRequest(text=TextDelta(seq=seq, text=piece.text, source=WireSource.ValueType(piece.source)))
