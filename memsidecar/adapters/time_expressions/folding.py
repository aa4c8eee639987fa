"""A text made easy to match, and the quick looks that most texts fail."""

from __future__ import annotations

import re
import unicodedata

MAX_CHARS = 2048

_WORD = re.compile(r"[a-z]+")
_DATE_DIGITS = re.compile(r"\d{4}|\d[/.-]\d|\d0'?s\b")
_HAN_TIME = re.compile(
    "[天日月年周週号季晚早节旦夕庆秋午明至夏春冬礼星重宵나어오내그모지이다작올双时小分暑寒]|五一|十一[黄假长]"
)


def _plain(char: str) -> str:
    """One character in lower case without its accent, as the keyboard's digit or sign where there is one."""
    simple = unicodedata.normalize("NFKD", char)
    if len(simple) > 1 and unicodedata.combining(simple[1]):
        simple = simple[0]
    simple = simple.lower()
    return simple if len(simple) == 1 and simple.isascii() else char.lower() if len(char.lower()) == 1 else char


# What is not here is in no word of the grammar. Same length: places in the folded text are places in the text.
_TABLE = {code: _plain(chr(code)) for code in (0xAA, 0xBA, *range(0xC0, 0x180), *range(0xFF01, 0xFF5F))}
_TABLE |= {ord("’"): "'", ord("‘"): "'", ord("‐"): "-", ord("‑"): "-"}
# Every space of Unicode, the no-break and the full-width one too.
_SPACES = (*"\t\r\u00a0\u1680\u202f\u205f\u3000", *map(chr, range(0x2000, 0x200B)))
_TABLE |= {code: chr(code + 32) for code in range(ord("A"), ord("Z") + 1)} | {ord(space): " " for space in _SPACES}
# A line goes on in the next one, a paragraph ends.
_LINE_END = re.compile(r"\n(?: *\n[ \n]*)?")
_TRADITIONAL = str.maketrans(
    "後個這過來週節慶號兩禮點億萬聖誕陽鐘時從間雙勞動兒當", "后个这过来周节庆号两礼点亿万圣诞阳钟时从间双劳动儿当"
)
_TABLE |= {code: chr(simple) for code, simple in _TRADITIONAL.items()}


def fold(text: str) -> str:
    """The start of the text in lower case, without accents, in simplified Chinese as far as time goes; same places."""
    text = text[:MAX_CHARS]
    text = text.lower().replace("\t", " ").replace("\r", " ") if text.isascii() else text.translate(_TABLE)
    return _LINE_END.sub(_line_end, text) if "\n" in text else text


def _line_end(match: re.Match[str]) -> str:
    length = match.end() - match.start()
    return " " if length == 1 else "\n" * length


def words_of(folded: str) -> set[str]:
    return set(_WORD.findall(folded))


def has_digits_of_a_date(folded: str) -> bool:
    return _DATE_DIGITS.search(folded) is not None


def has_han_time(folded: str) -> bool:
    return not folded.isascii() and _HAN_TIME.search(folded) is not None
