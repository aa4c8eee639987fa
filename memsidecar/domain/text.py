"""Text as people write it, made comparable."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Han, kana and hangul: scripts in which words are not separated by spaces (hangul is, but names are written both ways).
HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
CJK = HAN + "\u3041-\u30fa\u30fc-\u30ff\uac00-\ud7af"
_SPACE_IN_CJK = re.compile(rf"(?<=[{CJK}]) (?=[{CJK}])")
_CHUNK_END = re.compile(r"(?:[.!?](?=\s)|[。！？；\n])\s*")
# Symbols (emoji among them), their modifiers, and what cannot be seen. Marks stay: in many scripts they are vowels.
_NOT_IN_KEYS = frozenset(("So", "Sk", "Me", "Cf", "Cc"))
_NOT_IN_ASCII_KEYS = {code: None for code in range(128) if unicodedata.category(chr(code)) in _NOT_IN_KEYS}
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_OUTER = " \t.,;:!?\"'“”‘’()[]{}<>《》「」『』，。；：！？、"
_ZERO_WIDTH_JOINER = "\u200d"
# Not marks by category, but written onto the letter before: joiners, half-width kana voice marks, Thai and Lao "am".
_EXTENDING = frozenset("\u200c\u200d\uff9e\uff9f\u0e33\u0eb3")
# Written before what they belong to: number signs and the reph of some scripts (Grapheme_Cluster_Break=Prepend).
_PREPENDED = re.compile(
    "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3\U0001193f\U00011941"
    "\U00011a3a\U00011a84-\U00011a89\U00011d46\U00011f02]"
)
_VIRAMA = 9  # the combining class of signs that join two consonants into one
# Normalised in one call: of half a megabyte a call takes 20 ms, in which no other thread runs.
_SLICE = 8_192
# Characters that combine with nothing before them: a text can be cut there and the parts normalised alone.
_STARTER = re.compile("[\x00-\x7f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]")


# What NFKC makes part of the number before it: 10³ would be 103, and 1½ be 11⁄2.
_AFTER_DIGITS = re.compile("(?<=[0-9])(?:([⁺⁻]?[⁰¹²³⁴-⁹]+)|(?=[¼-¾⅐-⅞]))")


def nfkc(text: str) -> str:
    """The text in Unicode's form NFKC, with powers and fractions kept apart from the digits before them."""
    if len(text) <= _SLICE:
        return _nfkc(text)
    parts: list[str] = []
    start = 0
    while start < len(text):
        border = _STARTER.search(text, start + _SLICE)
        end = border.start() if border is not None else len(text)
        parts.append(_nfkc(text[start:end]))
        start = end
    return "".join(parts)


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", _AFTER_DIGITS.sub(_apart, text))


def _apart(found: re.Match[str]) -> str:
    return f"^{found[1]}" if found[1] else " "


def normalise(text: str) -> str:
    """NFKC, case-folded, white space collapsed: two texts that a reader would call the same become equal."""
    if text.isascii():
        return _spaced(text.casefold())
    # Folding case may leave characters that compose again.
    return _spaced(nfkc(nfkc(text).casefold()).casefold())


def entity_key(name: str) -> str:
    """The key under which an entity's name is looked up: letters and digits count, emoji and outer punctuation do not.

    Spaces between CJK characters are dropped, so that two spellings of one name meet. May be empty ("🙂").
    """
    if name.isascii():
        return normalise(_spaced(name).translate(_NOT_IN_ASCII_KEYS)).strip(_OUTER)
    name = _SELECTORS.sub("", nfkc(_spaced(name)))
    kept = (c for c in _spaced(name) if c.isalnum() or unicodedata.category(c) not in _NOT_IN_KEYS)
    return _SPACE_IN_CJK.sub("", normalise("".join(kept)).strip(_OUTER))


def display_name(name: str) -> str:
    """A name for showing: white space, also newlines and tabs, collapsed."""
    return _spaced(name)


def _spaced(text: str) -> str:
    """White space collapsed, none at the ends."""
    return " ".join(text.split())


def inside_character(text: str, at: int) -> bool:
    """Whether a cut before `at` would fall inside what a reader sees as one character (a grapheme cluster): a letter
    and its marks, an emoji sequence, a flag, a Korean syllable in parts, a line end of two."""
    if not 0 < at < len(text):
        return False
    after, before = text[at], text[at - 1]
    if not before.isascii() and _PREPENDED.match(before):
        return unicodedata.category(after) != "Cc"
    if after.isascii():
        return before == "\r" and after == "\n"
    if unicodedata.category(after) in ("Mn", "Mc", "Me") or after in _EXTENDING:
        return True
    if before == _ZERO_WIDTH_JOINER or "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if unicodedata.combining(before) == _VIRAMA:
        return after.isalpha()
    if _is_flag_half(after):
        halves = 0
        while halves < min(at, _LONGEST_RUN) and _is_flag_half(text[at - 1 - halves]):
            halves += 1
        return halves % 2 == 1
    return _is_inside_syllable(before, after)


# Halves of flags in a row that are paired from the first; the search for the first must end (even: then it gives up).
_LONGEST_RUN = 128


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_inside_syllable(before: str, after: str) -> bool:
    """Korean syllables written as their parts: leading consonant, vowel, trailing consonant."""
    if "\uac00" <= before <= "\ud7a3":
        takes_vowel = (ord(before) - 0xAC00) % 28 == 0
        return "\u11a8" <= after <= "\u11ff" or (takes_vowel and "\u1160" <= after <= "\u11a7")
    if "\u1100" <= before <= "\u115f":
        return "\u1100" <= after <= "\u11a7" or "\uac00" <= after <= "\ud7a3"
    if "\u1160" <= before <= "\u11a7":
        return "\u1160" <= after <= "\u11ff"
    return "\u11a8" <= before <= "\u11ff" and "\u11a8" <= after <= "\u11ff"


def chunks(text: str, size: int, overlap: int) -> list[str]:
    """Pieces of at most `size` code points (1 or more) that cover the text, neighbours sharing about `overlap`.

    Cuts after a sentence where one ends in the second half of a piece, else between words, else between characters as a
    reader sees them; inside one only when it is longer than half a piece. Every piece is at least a quarter of `size`
    further on than the one before, whatever `overlap` is.
    """
    if len(text) <= size:
        return [text]
    pieces: list[str] = []
    start = covered = 0
    while True:
        end = min(start + size, len(text))
        if end < len(text):
            end = cut_place(text, start + size // 2, end)
        if end <= covered:
            # The overlap left no room for the next character that a reader sees: this piece begins without one.
            start = covered
            continue
        pieces.append(text[start:end])
        if end == len(text):
            return pieces
        covered = end
        start = _next_start(text, max(end - overlap, start + max(1, size // 4)), end)


def cut_place(text: str, earliest: int, latest: int) -> int:
    """Where to cut in `earliest` to `latest`: after the last sentence, else after the last word, else before the last
    character as a reader sees them; at `latest`, inside one, only when none begins there."""
    ends = [match.end() for match in _CHUNK_END.finditer(text, earliest, latest)]
    if ends and not inside_character(text, ends[-1]):
        return ends[-1]
    space = text.rfind(" ", earliest, latest)
    if space != -1 and not inside_character(text, space + 1):
        return space + 1
    for end in range(latest, earliest, -1):
        if not inside_character(text, end):
            return end
    return latest


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, each with the white space after it; together they are the text."""
    start = 0
    for found in _CHUNK_END.finditer(text):
        if not inside_character(text, found.end()):
            yield text[start : found.end()]
            start = found.end()
    if start < len(text):
        yield text[start:]


def begin_place(text: str, earliest: int, latest: int) -> int:
    """Where a part that is cut out may begin in `earliest` to `latest`: at the first sentence, else at the first word,
    else at the first character as a reader sees them."""
    if earliest <= 0:
        return 0
    sentence = _CHUNK_END.search(text, earliest, latest)
    if sentence is not None and not inside_character(text, sentence.end()):
        return sentence.end()
    return _next_start(text, earliest, latest)


def _next_start(text: str, earliest: int, end: int) -> int:
    """Where the overlap begins: at a word, unless the script has none."""
    space = text.find(" ", earliest, end)
    start = space + 1 if space != -1 else earliest
    while start < end and inside_character(text, start):
        start += 1
    return min(start, end)
