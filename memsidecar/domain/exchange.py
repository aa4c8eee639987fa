"""A question and a model's answer to it as one text, as they are kept together.

Asked the same again, the text answers best of all by its words: it has the question in it. But it says no more than
what the model has said, true or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memsidecar.domain.session import Role
from memsidecar.domain.text import sentences
from memsidecar.domain.tokens import query_tokens

_ASKED, _ANSWERED = "User: ", "\nAssistant: "
# A question is short; of a longer prompt what it is about stands at one of its ends.
_READ = 400
# Two questions are the same when they share so much of the words that either has.
_SAME = 0.5
# By its beginning: "I have never been there, can you help?" says something, too.
_ASKS = re.compile(
    r"""\W*(?:(?:so|and|but|ok|okay|hey|hi|hello|well|then|please|now)\b\W*){0,3}
        (?:(?:who|what|when|where|which|why|how|is|are|am|was|were|do|does|did|has|have|can|could|will|would|should)
        (?:se|m|['’]s)?\b|(?:tell|show|remind|give)\sme\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKS_IN_CHINESE = re.compile("什么|哪|谁|几|多少|怎么|如何|吗|呢")


def transcript(said: Iterable[tuple[Role, str]]) -> str:
    """Turns as one text."""
    return "\n".join(f"{role.name.capitalize()}: {spoken}" for role, spoken in said)


def prompt_of(text: str) -> str | None:
    """What the user says in such a text; None for any other text."""
    if not text.startswith(_ASKED):
        return None
    end = text.find(_ANSWERED)
    return text[len(_ASKED) : end] if end >= 0 else None


def asks_the_same(text: str, terms: Sequence[str]) -> bool:
    """Whether a text asks what a question with these terms (`Analysis.terms`) asks, and states nothing about it."""
    if len(text) > _READ:
        text = f"{text[: _READ // 2]}\n{text[-_READ // 2 :]}"
    wanted: set[str] = set(terms)
    asked: set[str] = set()
    parts = [(sentence, _asks(sentence)) for sentence in sentences(text)]
    if not any(asks for _, asks in parts):
        return False
    for sentence, asks in parts:
        own = query_tokens(sentence)
        if asks:
            asked.update(own)
        elif not wanted.isdisjoint(own):
            return False
    return bool(asked) and len(asked & wanted) >= _SAME * len(asked | wanted)


def _asks(sentence: str) -> bool:
    if _ASKS.match(sentence) is not None:
        return True
    return not sentence.isascii() and _ASKS_IN_CHINESE.search(sentence) is not None
