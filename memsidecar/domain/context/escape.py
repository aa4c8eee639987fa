"""Makes recalled text harmless inside a prompt: it cannot end its own section, begin another, or pose as a turn.

What would be taken for a delimiter is broken by a backslash (Markdown) or turned into a character reference (XML); all
else stays as it was written. Delimiters are: the headings, fences, items and references of a rendered context, tags of
either format, the special tokens of chat templates, and a role with a colon at the start of a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memsidecar.domain.invisible import INVISIBLE

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
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
    rf"<(?=[|｜]|/?(?:{_TAGS})\b|<\s*/?\s*sys|!--)"  # <|im_start|>, <｜User｜>, </memory>, <<SYS>>, <!--
    r"|\[(?=m\d+\]|/?(?:inst|system_prompt|available_tools|tool_calls|tool_results)\])"  # [m1], [INST]
    r"|`(?=``)|~(?=~~)",
    re.IGNORECASE,
)
# What may stand before the first character of a line that a reader sees.
_INDENT = rf"(?:[^\S\n]|[{INVISIBLE}])"
_LINE_START = re.compile(rf"^({_INDENT}*)(?=#|[-*+][ \t]|[-=*_]{{3,}}[ \t]*$)", re.MULTILINE)
_ROLE_START = re.compile(
    rf"^(?P<role>{_INDENT}*(?:[*_>]{{1,3}}[ \t]*)?(?:{_ROLES})[*_]{{0,3}}[ \t]*)(?P<colon>[:：])", re.M | re.I
)
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
    text = _broken(plain(text), lambda character: character + "\\", "\\")
    text = _ROLE_START.sub(r"\g<role>\\\g<colon>", text)
    return text.replace("\n", "\n  ").replace("\n  \n", "\n\n") if "\n" in text else text


def xml(text: str) -> str:
    """For an element's content, and with `attribute` for one of its attributes."""
    text = _NOT_XML.sub("", plain(text))
    # Before `<` is named, so that the brackets of references are found; only brackets and line starts are left to do.
    text = _XML.sub(lambda found: _XML_NAMES[found[0]], text)
    text = _broken(text, lambda character: f"&#{ord(character)};", "")
    return _ROLE_START.sub(lambda found: f"{found['role']}&#{ord(found['colon'])};", text)


def attribute(text: str) -> str:
    return xml(one_line(text)).replace('"', "&quot;")


def _broken(text: str, broken: Callable[[str], str], before_line: str) -> str:
    text = _MARKS.sub(lambda found: broken(found[0]), text)
    if before_line:
        return _LINE_START.sub(lambda found: found[1] + before_line, text)
    return _XML_LINE_START.sub(lambda found: found[1] + broken(found[2]), text)


_XML_LINE_START = re.compile(rf"^({_INDENT}*)(#)", re.MULTILINE)
