"""Makes recalled text harmless inside a prompt: it cannot end its own section, begin another, or pose as a turn.

What would be taken for a delimiter is broken by a backslash (Markdown) or turned into a character reference (XML); all
else stays as it was written. Delimiters are: the headings, fences, items and references of a rendered context, tags of
either format, the special tokens of chat templates, and a role with a colon at the start of a line, all of them also
after a mark of quotation. They are looked for in the text as a model may read it: without characters that nobody sees,
and with full-width and other dressed letters and signs as plain ones.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence

from memsidecar.domain.invisible import INVISIBLE

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
# With what turns the direction of writing: it shows a reader other words than a model reads.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_ROLES = (
    "system|user|assistant|human|ai|tool|developer|function|model|instructions?|prompt|memory"
    "|系统|系統|用户|用戶|使用者|助手|助理|开发者|開發者|人类|人類|指令|システム|ユーザー|アシスタント|시스템|사용자"
)
# Tags that mean something to us or to a model; others, such as List<String>, are text.
_TAGS = (
    "s|sys|system|user|assistant|human|tool|developer|instructions?|prompt|think|thinking|thought"
    "|tool_?calls?|tool_?use|tool_?results?|tool_?response|function|function_?calls?|function_?results?|invoke|parameter"
    "|im_start|im_end|start_of_turn|end_of_turn|start_header_id|end_header_id|bos|eos|eot_id|begin_of_text|end_of_text"
    "|memory|profile|facts|experiences|experience|turn|item|session_summary|scratch|value|recent_messages|message"
    "|task|decision|lesson|antml:[a-z_]+"
)
_MARKS = re.compile(
    # <|im_start|>, <｜User｜>, </memory>, < /memory>, <<SYS>>, <!--
    rf"<(?=[|｜]|/?(?:{_TAGS})\b|\s{{0,4}}/?\s{{0,4}}(?:(?:{_TAGS})\s{{0,4}}>|sys)|\s{{0,4}}/\s{{0,4}}(?:{_TAGS})\b|!--)"
    r"|\[(?=\s?m\d+\s?\]|/?(?:inst|system_prompt|available_tools|tool_calls|tool_results)\])"  # [m1], [INST]
    r"|`(?=``)|~(?=~~)",
    re.IGNORECASE,
)
# What may stand before the first sign of a line that counts: a quotation's mark, a number of a list.
_BEFORE = r"^(?:[^\S\n]|>|\d{1,9}[.)](?=[ \t]))*"
_LINE_START = re.compile(rf"{_BEFORE}(?=#|[-*+][ \t]|[-=*_]{{3,}}[ \t]*$)", re.MULTILINE)
_XML_LINE_START = re.compile(rf"{_BEFORE}(?=#)", re.MULTILINE)
_ROLE_START = re.compile(rf"^(?:[^\S\n]|[*_>])*(?:{_ROLES})[*_]{{0,3}}[^\S\n]*(?=[:：])", re.MULTILINE | re.IGNORECASE)
# Letters, digits and the signs of delimiters in other dresses: full-width, small, mathematical, circled. Not the colon,
# which the patterns know and every Chinese text has.
_DRESSED = {
    code: simple
    for block in ((0x2100, 0x214F), (0x24B6, 0x24E9), (0xFE50, 0xFE6B), (0xFF01, 0xFF5E), (0x1D400, 0x1D7FF))
    for code in range(block[0], block[1] + 1)
    if len(simple := unicodedata.normalize("NFKC", chr(code))) == 1
    and simple.isascii()
    and (simple.isalnum() or simple in "<>/|#[]_`")
}
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_ODD = re.compile(f"[{INVISIBLE}{''.join(map(chr, _DRESSED))}]")
_XML = re.compile("[&<>]")
_XML_NAMES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# Code points that XML 1.0 has no place for.
_NOT_XML = re.compile("[\ufffe\uffff]")


def plain(text: str) -> str:
    """One kind of line end, no control characters, no more than one blank line in a row."""
    if text.isprintable():
        return text.strip()
    return _BLANK_LINES.sub("\n\n", _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))).strip()


def one_line(text: str) -> str:
    """A name or a title: white space collapsed."""
    return " ".join(plain(text).split())


def markdown(text: str) -> str:
    """For a Markdown list item: its further lines are indented, so that none begins where a heading would."""
    text = _broken(plain(text), _LINE_START, lambda mark: mark + "\\", lambda sign: "\\" + sign, _same)
    return text.replace("\n", "\n  ").replace("\n  \n", "\n\n") if "\n" in text else text


def xml(text: str) -> str:
    """For an element's content, and with `attribute` for one of its attributes."""
    return _broken(_NOT_XML.sub("", plain(text)), _XML_LINE_START, _reference, _reference, _named)


def attribute(text: str) -> str:
    return xml(one_line(text)).replace('"', "&quot;")


def _broken(
    text: str,
    starts: re.Pattern[str],
    of_mark: Callable[[str], str],
    of_start: Callable[[str], str],
    of_rest: Callable[[str], str],
) -> str:
    """The text with its delimiters broken: `of_mark` makes the first character of one harmless, `of_start` the one that
    makes a line's beginning one."""
    seen, hidden = _as_read(text)
    broken = {found.start(): of_mark for found in _MARKS.finditer(seen)}
    broken |= {found.end(): of_start for found in starts.finditer(seen)}
    broken |= {found.end(): of_start for found in _ROLE_START.finditer(seen)}
    if not broken:
        return of_rest(text)
    parts: list[str] = []
    done = 0
    for place in sorted(broken):
        at = place + bisect_right(hidden, place)
        parts += [of_rest(text[done:at]), broken[place](text[at])]
        done = at + 1
    return "".join([*parts, of_rest(text[done:])])


def _as_read(text: str) -> tuple[str, Sequence[int]]:
    """The text as a model may read it, and for each character that is not in it the place where it would be."""
    if text.isascii() or not _ODD.search(text):
        return text, ()
    hidden = [found.start() - at for at, found in enumerate(_INVISIBLE.finditer(text))]
    return _INVISIBLE.sub("", text).translate(_DRESSED), hidden


def _same(text: str) -> str:
    return text


def _named(text: str) -> str:
    return _XML.sub(lambda found: _XML_NAMES[found[0]], text)


def _reference(character: str) -> str:
    return _XML_NAMES.get(character) or f"&#{ord(character)};"
