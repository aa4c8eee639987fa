"""What of a stretch of text is the value: without articles, adverbs after it, reasons; and the items of a list."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Span

LONGEST_VALUE = 120
_LEADING = re.compile(r"(?:(?:a|an|the|my|our|some|any|this)\s+|[\s,:\"“'«]+)+", re.IGNORECASE)
_TRAILING = re.compile(
    r"(?:[\s,.;:!?~\"”'»)…*_-]|[\s,](?:too|as\swell|any\s?more|(?:right\s|for\s)?now|these\sdays"
    r"|nowadays|currently|lately|recently|so\smuch|very\smuch"
    r"|a\slot|at\sall|again|though|tbh|lol|please|thanks|originally|actually|already|at\sthe\smoment"
    r"|either|myself|in\sgeneral|of\scourse|btw|today"
    r"|by\sthe\sway|and|or|but|so|period|instead|twice|once))+$",
    re.IGNORECASE,
)
# Where a noun's description ends and something else begins.
_CUT = re.compile(
    r"[;:()\[\]\n—]|-\s|\s(?:because|cause|since|but|so|when|while|which|who|whose|where|that|if"
    r"|though|although|even|especially|unless|until|after|before"
    r"|due\sto|as\sI|as\sit|as\sthey|as\swell\sas|with|and\s(?:I|we|my|it|he|she|they|you|would|want"
    r"|am|have|was|is|can|that|need|looking|trying)"
    r"|for\s(?:a|an|the|my|over|about|more|many|almost|nearly|\d+|now|years|work|two|three|four|five"
    r"|six|seven|eight|nine|ten|twenty|several|most)|to\s(?:be|get|make|help|do|have|keep|see"
    r"|celebrate))\b",
)
# A wish may be long: only its reason is cut off.
_CUT_WISH = re.compile(
    r"[;()\[\]\n—]|-\s|\s(?:because|since|but|so|due\sto|as\s(?:I|it|they|this|that)|even\s(?:if|when"
    r"|though)|though|although|and\s(?:I|we|my|it)"
    r"|if|for\s(?:health|religious|ethical|environmental|personal|safety)\b"
    r"|and\s(?:\w+ly\s)?(?:would|want|need|prefer|refuse|avoid|find|dislike|like|love|hate|listen|opt"
    r"|choose|seek|consider|only|always|never|am|do|don't|try|tend"
    r"|instead|enjoy|believe|feel|rather|stick|strictly|follow|have|eat|exclusively))\b"
)
# A comma after which a wish goes on with a reason or an example.
_ASIDE = re.compile(
    r",\s*(?:as|so|such|including|like|especially|particularly|mostly|because|since|which|who|where"
    r"|even|but|with|when|while|whether|due|avoiding|instead|rather|only"
    r"|not|though|making|focusing|regardless|for|if|and\s(?:it|i|that|this|so)|either|whenever|unless"
    r"|then|now|too|\w+ing\s(?:it|them|that))\b",
    re.IGNORECASE,
)
# Not the one in a number.
_COMMA = re.compile(r",(?!\d{3})")
_AND = re.compile(r"\s*,\s*(?:and\s+|or\s+|but\s+also\s+)?|\s+(?:and|or|&)\s+(?:also\s+)?", re.IGNORECASE)
_ONE_THING = frozenset(
    """rock and roll|mac and cheese|salt and pepper|black and white|fish and chips|drum and bass
  |peanut butter and jelly|arts and crafts|bed and breakfast
    |dungeons and dragons|pros and cons|meat and potatoes|wine and cheese
    |board and card games|sweet and sour""".replace("\n", "").split("|")
)
_MOST_ITEMS = 12
_HAN_AND = re.compile(r"[、，,]\s*(?:还有|以及|和)?|以及|还有|(?<=[^\s])(?:和|跟|与)(?=[^\s平睦气好])")
_HAN_TRAILING = re.compile(r"(?:[\s，。！？!?,.；;~…)）”\"]|了|呢|吧|啊|呀|哦|哈|啦|嘛|的$)+$")
_HAN_LEADING = re.compile(
    r"(?:[\s:：“\"《（(]|一[个名位只条辆台部本把间套家款匹张所](?=[^\s人国])|个(?=[^\s人])|一[直些点种]儿?"
    r"|[很挺](?=多)|(?:是|叫|做)(?=.))+"
)


def trimmed(text: str, start: int, end: int) -> Span | None:
    """A value of a spaced script without what stands around it; None when nothing is left, or too much."""
    lead = _LEADING.match(text, start, end)
    start = lead.end() if lead else start
    while (
        (tail := _TRAILING.search(text, max(start, end - 40), end)) is not None
        and tail.end() == end
        and tail.start() < end
    ):
        end = tail.start()
    if text.find("“", start, end) != -1 and text[end : end + 1] == "”":
        end += 1
    return Span(start, end) if 0 < end - start <= LONGEST_VALUE else None


def cut(text: str, start: int, end: int, *, wish: bool = False, commas: bool = True) -> int:
    """Where the value that begins at `start` ends; at the first comma, too, unless it may be a list."""
    found = (_CUT_WISH if wish else _CUT).search(text, start, end)
    if found is not None:
        end = found.start()
    if commas:
        found = _COMMA.search(text, start, end)
    elif wish:
        found = _ASIDE.search(text, start, end)
    else:
        return end
    return found.start() if found is not None else end


def items(text: str, span: Span, *, loose: bool = False) -> list[Span]:
    """The items of a list ("tea, jazz and hiking"); the span itself when it is not surely one.

    Words may share what stands before or after them ("taste and smell of fish"), so items must be alike; not when
    `loose`: then what is no item is sorted out by who asks.
    """
    if text[span.start : span.end].lower() in _ONE_THING:
        return [span]
    borders = [found.span() for found in _AND.finditer(text, span.start, span.end)]
    if not borders:
        return [span]
    starts, ends = [span.start, *(b for _, b in borders)], [*(a for a, _ in borders), span.end]
    found = [part for a, b in zip(starts, ends, strict=True) if b > a and (part := trimmed(text, a, b)) is not None]
    parts = [text[part.start : part.end].split() for part in found]
    if loose or _alike(parts, conjunction=_CONJUNCTION.search(text, span.start, span.end) is not None):
        return found[:_MOST_ITEMS]
    return [span]


_CONJUNCTION = re.compile(r"\s(?:and|or|&)\s")


def _alike(parts: list[list[str]], *, conjunction: bool) -> bool:
    if len(parts) < 2 or not (conjunction or len(parts) > 2):
        # "crowded, densely populated cities"
        return False
    if all(part[0].endswith("ing") for part in parts):
        return all(len(part) < 7 for part in parts)
    if any("of" in part or part[0] in ("in", "at", "on") for part in parts) or parts[0][0].endswith("ing"):
        return False
    if len(parts[0]) > 1 and parts[0][1] in ("in", "at", "on", "to", "with", "for"):
        # "stay in historic or cultural places"
        return False
    sizes = [len(part) for part in parts]
    return max(sizes) <= 3 and (max(sizes) == 1 or (min(sizes) > 1 and max(sizes) - min(sizes) < 2) or len(parts) > 2)


def han_trimmed(text: str, start: int, end: int) -> Span | None:
    """A Chinese value without measure words before it and particles after it."""
    lead = _HAN_LEADING.match(text, start, end)
    start = lead.end() if lead else start
    if (tail := _HAN_TRAILING.search(text, max(start, end - 12), end)) is not None:
        end = tail.start()
    if start < end and text[start : start + 1] == "《" and text[end - 1] == "》":
        start, end = start + 1, end - 1
    elif text[end - 1 : end] == "》":
        end -= 1
    return Span(start, end) if 0 < end - start <= LONGEST_VALUE // 2 else None


def han_items(text: str, span: Span) -> list[Span]:
    """The items of a Chinese list (英语、日语和法语); the span itself when it is not surely one."""
    borders = [found.span() for found in _HAN_AND.finditer(text, span.start, span.end)]
    if not borders:
        return [span]
    starts, ends = [span.start, *(b for _, b in borders)], [*(a for a, _ in borders), span.end]
    found = [part for a, b in zip(starts, ends, strict=True) if b > a and (part := han_trimmed(text, a, b)) is not None]
    if not found or any(part.end - part.start > 12 for part in found):
        return [span]
    return found[:_MOST_ITEMS]
