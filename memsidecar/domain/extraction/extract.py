"""The rules extractor: what a text says is so, without a model."""

from __future__ import annotations

import re
from dataclasses import replace

from memsidecar.domain.claims import Claim, Manner, Span
from memsidecar.domain.extraction.chinese import read_chinese
from memsidecar.domain.extraction.chinese_subject import HAN_NOTE
from memsidecar.domain.extraction.chinese_words import SIMPLER
from memsidecar.domain.extraction.english import read_english
from memsidecar.domain.extraction.english_clauses import NOTE
from memsidecar.domain.extraction.guard import is_believed, plays_a_part
from memsidecar.domain.extraction.masking import masked
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.generation.sentences import Sentences
from memsidecar.domain.text import HAN

MAX_READ = 20_000
"""Code points of a text that are read."""
MAX_CLAIMS = 64
MAX_SENTENCES = 256
"""Sentences that are looked at closely: those about somebody, or about a date."""
LONGEST_SENTENCE = 1_000

# A text without one of these has nothing that a rule reads; most replies are such.
_WORTH = re.compile(
    r"\b(?:[Ii]m?|[Mm]y|[Ww]e|[Oo]ur|MY|WE|[Dd]eadline|due|moved|postponed|rescheduled|pushed|delayed"
    r"|extended|[Cc]alls? me|[Ii]s on|scheduled|reach me|email me|your (?:answers|replies|responses|explanations))\b"
    r"|[Ff]rom now on|[Gg]oing forward|[Aa]lways|[Nn]ever|[Ff]uture|[我咱俺]|^(?:该|这位)?用户|截止|改到|推迟|提前到"
    r"|改成|定在|以后|从现在起|今后|ddl|本人|时间是|定于"
)
# A sentence that only says that what was said before is not so.
LONGEST_TAKING_BACK = 80
_TAKES_BACK = re.compile(
    r"\W*(?:(?:oops|sorry|no|nope|wait|hold on|correction|actually|ah|oh|hmm|scratch that|my (?:bad"
    r"|mistake)|i (?:misspoke|was wrong|made a mistake|got that wrong|mixed that up)"
    r"|that(?:'s| is| was) (?:wrong|not right|incorrect|a mistake|not correct)|let me correct (?:that"
    r"|myself)|不对|不是|错了|说错了?|我(?:说|记|搞|弄)错了|更正(?:一下)?|纠正一下)[\W]*){1,5}",
    re.IGNORECASE,
)
_HAN = re.compile(f"[{HAN}]")
# A sentence with a Chinese or Japanese name in it is English when an English subject and no Chinese grammar is in it.
_ENGLISH_SUBJECT = re.compile(r"\b(?:I|i|[Ii]'(?:m|ve)|[Ii]m|[Mm]y|[Ww]e|[Oo]ur)\s")
_HAN_GRAMMAR = re.compile(r"[的了是吗呢吧我咱俺你您他她它们不没很也都要想会叫就]|喜欢|住在")
# "- I live in Oslo", "1. I live in Oslo": the sign of a list is none of the sentence.
_LISTED = re.compile(r"(?:[-*•·–—+]|\(?\d{1,2}[.)])[ \t]+")
_ASKED = re.compile(r"[?？][\s\"'”’)）]*$")


def extract(text: str) -> tuple[Claim, ...]:
    """What a text states of whoever speaks and of those near to him, in order.

    English and Chinese are read, the first `MAX_READ` code points with up to `MAX_SENTENCES` sentences about somebody,
    and at most `MAX_CLAIMS` claims are given. A long text takes up to 15 ms: call it off the event loop. Precise
    rather than complete: what is asked, supposed, quoted, played or meant as a joke is not read, nor code, nor what
    others like.
    """
    if not _WORTH.search(text, 0, MAX_READ) and not NOTE.match(text):
        return ()
    text = text[:MAX_READ]
    hidden = masked(text)
    if not hidden.isascii():
        # Character by character, so that places stay; values and statements are of the text as it was written.
        hidden = hidden.translate(SIMPLER)
    if plays_a_part(hidden):
        return ()
    reading = Reading(text, hidden)
    sentences = Sentences()
    ends = [*sentences.feed(hidden), *sentences.settle()]
    if not ends or ends[-1] < len(hidden):
        ends.append(len(hidden))
    start, taken_back = 0, False
    note = NOTE.match(hidden) is not None or HAN_NOTE.match(hidden) is not None
    for end in ends:
        known = len(reading.claims)
        _read(reading, start, min(end, start + LONGEST_SENTENCE), note=note)
        if taken_back:
            reading.claims[known:] = [
                replace(claim, manner=Manner.CORRECTED) if claim.manner is Manner.STATED else claim
                for claim in reading.claims[known:]
            ]
        taken_back = end - start < LONGEST_TAKING_BACK and _TAKES_BACK.fullmatch(hidden, start, end) is not None
        if len(reading.claims) >= MAX_CLAIMS or reading.sentences >= MAX_SENTENCES:
            break
        start = end
    return tuple(reading.claims[:MAX_CLAIMS])


def _read(reading: Reading, start: int, end: int, *, note: bool) -> None:
    hidden = reading.text
    start = end - len(hidden[start:end].lstrip())
    if listed := _LISTED.match(hidden, start, end):
        start = listed.end()
    if end - start < 2 or not (note or _WORTH.search(hidden, start, end)):
        return
    reading.sentences += 1
    sentence = hidden[start:end]
    reading.sentence = Span(start, end)
    asked = _ASKED.search(sentence) is not None
    # The sign at the end belongs to no clause.
    stop = start + len(sentence.rstrip(" \t\r\n.!?。！？…~"))
    known = len(reading.claims)
    if not sentence.isascii() and _HAN.search(sentence) and not _is_english(sentence):
        read_chinese(reading, start, stop, asked=asked)
    else:
        read_english(reading, start, stop, asked=asked, note=note)
    # Asked last, because most sentences claim nothing.
    if len(reading.claims) > known and not is_believed(sentence, hidden[end : end + 40]):
        del reading.claims[known:]


def _is_english(sentence: str) -> bool:
    return _ENGLISH_SUBJECT.search(sentence) is not None and _HAN_GRAMMAR.search(sentence) is None
