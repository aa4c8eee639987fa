"""When new text is worth an evaluation."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable

from memsidecar.domain.generation.sentences import Sentences
from memsidecar.domain.generation.values import Trigger
from memsidecar.domain.text import CJK

QUIET = 0.25
"""Seconds without text after which a full stop at the end of it ends a sentence. Tokens come every 10 to 100 ms."""
LOOK_BACK = 512
"""Code points from which the state at a place is found again: hardly a sentence is longer."""
# A name may have begun in the delta before.
_LONGEST_NAME = 48
_BROKEN_WORD = re.compile(rf"[^\W{CJK}]+")
_LAST_WORD = re.compile(rf"[^\W{CJK}]{{1,{_LONGEST_NAME}}}$")
_WORD = re.compile(r"[^\W_]")


class Triggers:
    """The places at which a reason to evaluate came up and that no evaluation has reached yet.

    A delta is one reason at most: the end of a sentence, so many code points since the reason or the evaluation before,
    or a name.
    """

    def __init__(self, trigger: Trigger, names: Callable[[str], bool]) -> None:
        self.effective = trigger
        self._names = names
        self._sentences = Sentences()
        self._waiting = array("I")
        self._length = 0
        # Where the code points are counted from.
        self._since = 0
        # What a name may be the end of.
        self._recent = ""
        self.quiet_at: float | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def text(self, text: str, at: float) -> None:
        """The next delta, not empty."""
        self._length += len(text)
        reason = self._length - self._since >= self.effective.min_chars
        if self.effective.on_sentence_end:
            reason = self._ends_a_sentence(text, reason)
        if reason:
            self._recent = _unfinished(self._recent + text[-_LONGEST_NAME - 1 :])
        elif self.effective.on_entity_mention and _WORD.search(text):
            window = _from_word(self._recent, text)
            reason = self._names(window)
            self._recent = "" if reason else window[-_LONGEST_NAME - 1 :]
        else:
            self._recent = (self._recent + text)[-_LONGEST_NAME - 1 :]
        self._watch(at)
        if reason:
            self.add()

    def settle(self, at: float) -> None:
        """Nothing more has come until now."""
        if self.quiet_at is not None and self.quiet_at <= at:
            self.border()

    def border(self) -> None:
        """The text goes on elsewhere, or not for now: what may have been a sentence's end is one."""
        self.quiet_at = None
        if self._sentences.settle():
            self.add()

    def add(self) -> None:
        """A reason at the end of the text."""
        if not self._waiting or self._waiting[-1] != self._length:
            self._waiting.append(self._length)
        self._since = self._length

    def reached(self, place: int) -> int:
        """An evaluation of the text up to `place`: how many reasons it answers."""
        count = bisect_right(self._waiting, place)
        del self._waiting[:count]
        self._since = max(self._since, place)
        return count

    def rewound(self, length: int, before: str, at: float) -> None:
        """The text is `length` long again; `before` are its last LOOK_BACK code points, or all."""
        del self._waiting[bisect_right(self._waiting, length) :]
        self._length = length
        self._since = min(self._since, length)
        self._recent = _unfinished(before)
        self._sentences = Sentences(length - len(before))
        if self.effective.on_sentence_end:
            self._sentences.feed(before)
        self._watch(at)

    def _ends_a_sentence(self, text: str, reason: bool) -> bool:
        """Whether there is a reason, or an end in the text to be one. After the first, more ends in it do not matter,
        only what it leaves under way."""
        start, at = self._length - len(text), 0
        while at < len(text):
            if reason and len(text) - at > LOOK_BACK:
                at = len(text) - LOOK_BACK
                self._sentences = Sentences(start + at)
            reason = bool(self._sentences.feed(text[at : at + LOOK_BACK])) or reason
            at += LOOK_BACK
        return reason

    def _watch(self, at: float) -> None:
        self.quiet_at = at + QUIET if self._sentences.undecided else None


def _unfinished(text: str) -> str:
    """The word at the end, which may be the beginning of a name; what is before it has been seen to."""
    last = _LAST_WORD.search(text[-_LONGEST_NAME - 1 :])
    return last.group() if last is not None else ""


def _from_word(recent: str, text: str) -> str:
    """Both, without the rest of a word that `recent` begins in."""
    broken = _BROKEN_WORD.match(recent) if len(recent) > _LONGEST_NAME else None
    return recent[broken.end() if broken is not None else 0 :] + text
