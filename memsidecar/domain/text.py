"""Text as people write it, made comparable."""

from __future__ import annotations

import re
import unicodedata

# Han, kana and hangul: scripts in which words are not separated by spaces (hangul is, but names are written both ways).
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_SPACE = re.compile(r"\s+")
_SPACE_IN_CJK = re.compile(rf"(?<=[{CJK}]) (?=[{CJK}])")
_CHUNK_END = re.compile(r"(?:[.!?](?=\s)|[。！？；\n])\s*")


def normalise(text: str) -> str:
    """NFKC, case-folded, white space collapsed: two texts that a reader would call the same become equal."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def entity_key(name: str) -> str:
    """The key under which an entity's name is looked up: letters and digits count, emoji and outer punctuation do not.

    Spaces between CJK characters are dropped, so that two spellings of one name meet. May be empty ("🙂").
    """
    kept = "".join(c for c in normalise(name) if unicodedata.category(c) not in ("So", "Sk", "Mn", "Cf", "Cc"))
    return _SPACE_IN_CJK.sub("", _SPACE.sub(" ", kept).strip(" \t.,;:!?\"'“”‘’()[]{}<>《》「」『』，。；：！？、"))


def display_name(name: str) -> str:
    """A name for showing: white space, also newlines and tabs, collapsed."""
    return _SPACE.sub(" ", name).strip()


def chunks(text: str, size: int, overlap: int) -> list[str]:
    """Pieces of at most `size` code points that cover the text, neighbours sharing about `overlap`.

    Cuts after a sentence where one ends in the second half of a piece, else between words, else anywhere between
    characters (a combining mark stays with its letter).
    """
    if len(text) <= size:
        return [text]
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            end = _cut(text, start + size // 2, end)
        pieces.append(text[start:end])
        if end == len(text):
            break
        following = max(end - overlap, start + 1)
        # Begin the overlap at a word, unless the script has none.
        space = text.find(" ", following, end)
        start = space + 1 if space != -1 else following
    return pieces


def _cut(text: str, earliest: int, latest: int) -> int:
    ends = [match.end() for match in _CHUNK_END.finditer(text, earliest, latest)]
    if ends:
        return ends[-1]
    space = text.rfind(" ", earliest, latest)
    if space != -1:
        return space + 1
    while latest > earliest and unicodedata.combining(text[latest]):
        latest -= 1
    return latest
