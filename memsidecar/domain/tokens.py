"""Words for the keyword index, in any script.

Spaced scripts: words, case-folded, stemmed with Snowball (English; the stems of other languages' words only have to be
equal on both sides). Han, kana, hangul and the unspaced scripts of South-East Asia: overlapping pairs of characters,
which the design's measurement found as good as a segmenter, plus single Han characters so that a one-character question
finds something.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

import Stemmer

from memsidecar.domain.text import CJK, HAN, nfkc

# Thai, Lao, Burmese and Khmer.
_UNSPACED = CJK + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# A hash or an encoded picture is a word to no one; its beginning tells it from others.
_LONGEST_WORD = 64
# Words stemmed or counted in one call, half a millisecond: in a call, no other thread runs.
_AT_ONCE = 2_048
# Texts longer than this are taken apart word by word, for the same reason.
_LONG = 20_000


def _marks() -> str:
    """Combining marks as ranges of a character class. `\\w` leaves them out, but they are vowels in many scripts."""
    points = [p for p in range(0x300, 0x3000) if unicodedata.category(chr(p)) in ("Mn", "Mc")]
    runs = (list(run) for _, run in groupby(enumerate(points), lambda item: item[1] - item[0]))
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)


# A letter or digit of any script, or a mark on one.
LETTER = rf"(?:[^\W_]|[{_marks()}])"
_SPACED = rf"(?:[^\W_{_UNSPACED}]+|[{_marks()}]+)+"
_TOKEN = re.compile(rf"[{_UNSPACED}]+|{_SPACED}(?:'{_SPACED})*")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_IS_HAN = re.compile(rf"[{HAN}]")
_STEMMER = Stemmer.Stemmer("english")
# When it is full, it is sorted: 2 ms at this size, and it spares a quarter of a microsecond a word.
_STEMMER.maxCacheSize = 5_000

# Words of questions and glue: they match everything and mean nothing.
STOP_WORDS = frozenset(
    """a an the and or but if of to in on at by for with from as is are was were be been being am do does did doing
    done have has had having will would can could should shall might must i me my mine we us our you your he
    him his she her it its they them their this that these those there here what which who whom whose when where
    why how s t ll re ve d m so than too very just about into over after before again then once not no nor only
    own same such any both each few more most other some""".split()
)
STOP_CJK = frozenset("的了是在我你他她它们吗呢吧啊和与及就都也很这那个什么怎么谁哪几多少有没不")
_CONTRACTED = frozenset(("s", "t", "d", "m", "ll", "re", "ve"))


def tokens(text: str) -> list[str]:
    """The index terms of a text, repeats kept, stop words left out."""
    if text.isascii() and "'" not in text and len(text) <= _LONG:
        # Nearly every text, at half the price.
        found = _ASCII_TOKEN.findall(text.lower())
        return _stems([token[:_LONGEST_WORD] for token in found if token not in STOP_WORDS])
    words = list(_words(text))
    return _stems(words) if len(words) <= _AT_ONCE else [stem for part in _parts(words) for stem in _stems(part)]


def token_counts(text: str) -> Counter[str]:
    """The index terms of a text with how often each comes; never holds other threads for long."""
    if len(text) <= _LONG:
        return Counter(tokens(text))
    counts: Counter[str] = Counter()
    for part in _parts(_words(text)):
        counts.update(_stems(part))
    return counts


def _words(text: str) -> Iterator[str]:
    for token in _runs(text):
        if token.isascii() or not _IS_UNSPACED.match(token):
            yield token
        elif len(token) == 1:
            if token not in STOP_CJK:
                yield token
        else:
            # Single kana and hangul syllables are particles or parts of words; a single Han character is a word.
            for character in token:
                if character not in STOP_CJK and _IS_HAN.match(character):
                    yield character
            for i in range(len(token) - 1):
                yield token[i : i + 2]


def _parts(words: Iterable[str]) -> Iterator[list[str]]:
    source = iter(words)
    while part := list(islice(source, _AT_ONCE)):
        yield part


def _stems(words: list[str]) -> list[str]:
    return _STEMMER.stemWords(words)  # type: ignore[no-any-return]  # PyStemmer is untyped


def query_tokens(text: str) -> list[str]:
    """The distinct terms of a question: single CJK characters only where a run has no second one."""
    words: dict[str, None] = {}
    for token in _runs(text):
        if token.isascii() or not _IS_UNSPACED.match(token):
            words[token] = None
        elif len(token) == 1:
            if token not in STOP_CJK:
                words[token] = None
        else:
            for i in range(len(token) - 1):
                if not (token[i] in STOP_CJK and token[i + 1] in STOP_CJK):
                    words[token[i : i + 2]] = None
    return list(dict.fromkeys(_stems(list(words))))


def share_of_pairs(terms: Sequence[str]) -> float:
    """How many of a question's terms are of a script without spaces, where pairs of characters stand for words: 0 to
    1, and 0 without terms."""
    pairs = sum(1 for term in terms if not term.isascii() and _IS_UNSPACED.match(term))
    return pairs / len(terms) if pairs else 0.0


def _runs(text: str) -> Iterator[str]:
    """Words that mean something, and runs of unspaced characters."""
    if text.isascii():
        pattern, text = _ASCII_TOKEN, text.lower()
    else:
        pattern, text = _TOKEN, nfkc(text).casefold().replace("’", "'")
    found = pattern.findall(text) if len(text) <= _LONG else (match.group() for match in pattern.finditer(text))
    for token in found:
        if token in STOP_WORDS:
            continue
        if "'" in token:
            head, _, tail = token.rpartition("'")
            # "it's", "that'll", "don't" are stop words too; "o'brien" and "d'angelo" are names.
            if tail in _CONTRACTED and (head in STOP_WORDS or token.endswith("n't")):
                continue
        yield token[:_LONGEST_WORD] if len(token) > _LONGEST_WORD and not _IS_UNSPACED.match(token) else token
