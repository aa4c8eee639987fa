"""A text with what its writer does not say himself made unreadable: code, quotations, logs, what others wrote."""

from __future__ import annotations

import re

MASK = "\ufffc"
"""Stands for each character of a quotation; a rule reads over it, and finds no word in it."""

# Every repeat is bounded, or cannot begin twice in one place, so that no text makes a rule slow.
_FENCE = re.compile(r"```|~~~")
_INLINE = re.compile(r"`[^`\n]{1,400}`")
_LINK = re.compile(
    r"https?://[^\s<>\"，。、]{1,500}|<[/a-zA-Z][^<>\n]{0,200}>|\[[^\[\]\n]{1,400}\](?:\([^()\n]{1,400}\))?"
)
_QUOTED = re.compile(
    r"(?<!\d)\"[^\"\n]{1,600}(?:\"|$)|“[^“”\n]{1,600}(?:”|$)|「[^「」\n]{1,600}」|『[^『』\n]{1,600}』"
    r"|《[^《》\n]{1,100}》"
    r"|«[^«»\n]{1,600}»|‘[^‘’\n]{3,300}’(?!\w)",
    re.MULTILINE,
)
# In single quotes; an apostrophe is none.
_SINGLE_QUOTED = re.compile(r"(?<![\w'])'(?=[A-Z\u4e00-\u9fff])(?:[^'\n]|(?<=\w)'(?=\w)){2,300}'(?!\w)")
_OPENING = (" '", "\n'", "('", ":'", "：'")
# A line that a machine wrote or reads, or that was written by somebody else.
_NOT_PROSE = re.compile(
    r"\s*(?:>|\||[#@$]|//|/\*|\*/|--\s|[{}\[\]<]|[\w.]{1,40}\s?=[^=]|\d{4}-\d\d-\d\d[T ]\d\d:"
    r"|[A-Z]{3,10}:? \d{4}-|(?:ERROR|WARN|INFO|DEBUG)\b"
    r"|Traceback|File \"|at [\w.$]+\(|(?:def|class|import|from|return|const|let|var|public|private"
    r"|void|elif|SELECT|INSERT|git|npm|pip"
    r"|function|print|echo|printf)\b[ (])"
)
_CODE_CALL = re.compile(r"\s*[\w.]{1,40}\([^)\n]{0,200}\)\s*;?\s*$")
_NOT_PROSE_END = re.compile(r"[;{}\\]\s*$|=>\s*$")
# What a person writes in a line that looks like an import all the same.
_PROSE = re.compile(
    r"\s*(?:from now on|from (?:march|april|may|june|july|january|monday|the)|let me|let's|return to|class of)\b",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """As long as `text`: code and what is no prose as spaces, quotations as `MASK`, apostrophes plain."""
    if "```" in text or "~~~" in text:
        text = _without_fences(text)
    if "`" in text:
        text = _INLINE.sub(_blank, text)
    if "[" in text or "<" in text or "://" in text:
        text = _LINK.sub(_blank, text)
    if "’" in text:
        text = _apostrophes(text)
    if any(sign in text for sign in '"“「『《«‘'):
        text = _QUOTED.sub(_hide, text)
    if "'" in text and (text[0] == "'" or any(sign in text for sign in _OPENING)):
        text = _SINGLE_QUOTED.sub(_hide, text)
    if "\n" in text:
        return "\n".join(" " * len(line) if _is_not_prose(line) else line for line in text.split("\n"))
    return " " * len(text) if _is_not_prose(text) else text


_APOSTROPHE = re.compile(r"(?<=[A-Za-z])’(?=[A-Za-z])")


def _apostrophes(text: str) -> str:
    return _APOSTROPHE.sub("'", text)


def _is_not_prose(line: str) -> bool:
    if not line or line.isspace():
        return False
    begins = line[:300]
    if _NOT_PROSE.match(begins) and not _PROSE.match(begins):
        return True
    return _NOT_PROSE_END.search(line[-8:]) is not None or _CODE_CALL.match(begins) is not None


def _without_fences(text: str) -> str:
    parts: list[str] = []
    at, inside = 0, False
    for fence in _FENCE.finditer(text):
        piece = text[at : fence.start()]
        parts.append(" " * len(piece) if inside else piece)
        parts.append("\n  ")
        at, inside = fence.end(), not inside
    rest = text[at:]
    parts.append(" " * len(rest) if inside else rest)
    return "".join(parts)


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def _hide(match: re.Match[str]) -> str:
    quoted = match.group()
    # The marks stay, so that a quotation is seen to be one.
    return quoted[0] + MASK * (len(quoted) - 2) + quoted[-1] if len(quoted) > 2 else quoted
