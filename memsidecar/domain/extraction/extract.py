"""The rules extractor: what a text says is so, without a model."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Claim, Span
from memsidecar.domain.extraction.chinese import read_chinese
from memsidecar.domain.extraction.english import read_english
from memsidecar.domain.extraction.guard import is_believed, plays_a_part
from memsidecar.domain.extraction.masking import masked
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.generation.sentences import Sentences
from memsidecar.domain.text import HAN

MAX_READ = 20_000
"""Code points of a text that are read."""
MAX_CLAIMS = 64
LONGEST_SENTENCE = 1_000

# A text without one of these has nothing that a rule reads; most replies are such.
_WORTH = re.compile(
    r"\b(?:[Ii]|[Mm]y|[Ww]e|[Oo]ur|MY|WE|[Dd]eadline|due|moved|postponed|rescheduled|pushed|delayed|extended|[Cc]all me|[Ii]s on|scheduled|reach me|email me)\b"
    r"|[Ff]rom now on|[Gg]oing forward|[Aa]lways|[Nn]ever|[Ff]uture|[我咱俺]|截止|改到|推迟|提前到|改成|定在|以后|从现在起|今后|ddl|本人|时间是|定于"
)
_HAN = re.compile(f"[{HAN}]")
_ASKED = re.compile(r"[?？][\s\"'”’)）]*$")


def extract(text: str) -> tuple[Claim, ...]:
    """What a text states of whoever speaks and of those near to him, in order.

    English and Chinese are read, the first `MAX_READ` code points, and at most `MAX_CLAIMS` claims are given. Precise
    rather than complete: what is asked, supposed, quoted, played or meant as a joke is not read, nor code, nor what
    others like.
    """
    if not _WORTH.search(text, 0, MAX_READ):
        return ()
    text = text[:MAX_READ]
    hidden = masked(text)
    if plays_a_part(hidden):
        return ()
    reading = Reading(text, hidden)
    sentences = Sentences()
    ends = [*sentences.feed(hidden), *sentences.settle()]
    if not ends or ends[-1] < len(hidden):
        ends.append(len(hidden))
    start = 0
    for end in ends:
        _read(reading, start, min(end, start + LONGEST_SENTENCE))
        if len(reading.claims) >= MAX_CLAIMS:
            break
        start = end
    return tuple(reading.claims[:MAX_CLAIMS])


def _read(reading: Reading, start: int, end: int) -> None:
    hidden = reading.text
    start = end - len(hidden[start:end].lstrip())
    if end - start < 2 or not _WORTH.search(hidden, start, end):
        return
    sentence = hidden[start:end]
    reading.sentence = Span(start, end)
    asked = _ASKED.search(sentence) is not None
    # The sign at the end belongs to no clause.
    stop = start + len(sentence.rstrip(" \t\r\n.!?。！？…~"))
    known = len(reading.claims)
    if not sentence.isascii() and _HAN.search(sentence):
        read_chinese(reading, start, stop, asked=asked)
    else:
        read_english(reading, start, stop, asked=asked)
    # Asked last, because most sentences claim nothing.
    if len(reading.claims) > known and not is_believed(sentence, hidden[end : end + 40]):
        del reading.claims[known:]
