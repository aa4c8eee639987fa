"""Words for the keyword index, in any script.

Latin and other spaced scripts: words, case-folded, stemmed with Snowball (English; the stems of other languages' words
only have to be equal on both sides). Han, kana and hangul: overlapping pairs of characters, which the design's
measurement found as good as a segmenter, plus single characters so that a one-character question finds something.
"""

from __future__ import annotations

import re
import unicodedata

import Stemmer

from memsidecar.domain.text import CJK

_TOKEN = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:['’][^\W_{CJK}]+)*|[@#][\w{CJK}]+", re.UNICODE)
_IS_CJK = re.compile(rf"[{CJK}]")
_STEMMER = Stemmer.Stemmer("english")
_STEMMER.maxCacheSize = 50_000

# Words of questions and glue: they match everything and mean nothing (quality.md: question words as stop words).
STOP_WORDS = frozenset(
    """a an the and or but if of to in on at by for with from as is are was were be been being am do does did doing
    done have has had having will would can could should shall might must i me my mine we us our you your he
    him his she her it its they them their this that these those there here what which who whom whose when where
    why how s t ll re ve d m so than too very just about into over after before again then once not no nor only
    own same such any both each few more most other some""".split()
)
STOP_CJK = frozenset("的了是在我你他她它们吗呢吧啊和与及就都也很这那个什么怎么谁哪几多少有没不")


def tokens(text: str) -> list[str]:
    """The index terms of a text, repeats kept, stop words left out."""
    words: list[str] = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        token = match.group()
        if _IS_CJK.match(token):
            # Single kana and hangul syllables are particles or parts of words; a single Han character is a word.
            words.extend(c for c in token if "\u3400" <= c <= "\u9fff" and c not in STOP_CJK)
            words.extend(token[i : i + 2] for i in range(len(token) - 1))
        elif token not in STOP_WORDS:
            words.append(token)
    return _STEMMER.stemWords(words)  # type: ignore[no-any-return]


def query_tokens(text: str) -> list[str]:
    """The distinct terms of a question: single CJK characters only where a run has no second one."""
    words: dict[str, None] = {}
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        token = match.group()
        if _IS_CJK.match(token):
            if len(token) == 1:
                words[token] = None
            for i in range(len(token) - 1):
                if not (token[i] in STOP_CJK and token[i + 1] in STOP_CJK):
                    words[token[i : i + 2]] = None
        elif token not in STOP_WORDS:
            words[token] = None
    return list(dict.fromkeys(_STEMMER.stemWords(list(words))))
