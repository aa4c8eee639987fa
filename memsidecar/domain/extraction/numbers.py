"""The numbers of a clause that state an amount: not versions, status codes, formulas, differences or ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from memsidecar.domain.amounts import MONTH

MOST = 24
"""Numbers of a clause that are read."""
POINTS = frozenset(("date", "clock"))
"""The groups of a match that say when; the others (money, measure, part, count, word) say how much."""
NEAR = 240
"""Characters before and after a number that are read, at most to the ends of its clause."""

_SMALL = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety"
_UNIT = (
    r"%|percent\b|ms\b|milliseconds?\b|seconds?\b|secs?\b|s\b|minutes?\b|mins?\b|hours?\b|hrs?\b|days?\b"
    r"|weeks?\b|months?\b"
    r"|years?\b|kb\b|mb\b|gb\b|tb\b|km\b|kg\b|lbs?\b|pounds?\b|kilos?\b|miles?\b|kilomet(?:er|re)s?\b|met(?:er"
    r"|re)s?\b"
    r"|dollars?\b|euros?\b|yuan\b|rmb\b"
)
_QUANTITY = re.compile(
    rf"(?P<date>\b{MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}}\b)?|\b\d{{1,2}}(?:st|nd|rd"
    rf"|th)?\s(?:of\s)?{MONTH}(?![a-z])(?:,?\s\d{{4}}\b)?"
    r"|\b\d{4}-\d\d-\d\d\b)"
    r"|(?P<clock>\b\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?)"
    r"|(?P<money>[$€£¥]\s?\d[\d,]{0,14}(?:\.\d{1,2})?(?:k|m)?\b)"
    rf"|(?P<measure>(?<![\w.,$-])\d[\d,]{{0,14}}(?:\.\d{{1,6}})?\s?(?:{_UNIT}))"
    r"|(?P<part>(?<![\w.,/$-])\d{1,4}(?:/| out of )\d{1,4}(?![\w/.-]))"
    r"|(?P<count>(?<![\w.,/$£€#(=+*^×·-])\d[\d,]{0,14}(?:\.\d{1,2})?k?(?![\w/-]|[.,]\d|\s?[=+*^×·/−<>-]\s?[\w(]))"
    rf"|(?P<word>\b(?:{_SMALL})(?=\s[a-z]))",
    re.IGNORECASE,
)
MAY_HAVE = re.compile(rf"\d|\b(?:{_SMALL})\s", re.IGNORECASE)
"""What every text with a number has; much quicker to look for."""

# What makes a number a name, an example's or a machine's, by the word before it.
_NAMED = re.compile(
    r"(?:\b(?:version|v|step|question|part|chapter|section|page|line|lines|port|http|https|error|code|status"
    r"|room|flight|id|"
    r"level|grade|figure|table|item|option|sprint|phase|day|week|module|unit|lesson|type|rfc|iso|es|node|python"
    r"|flask|"
    r"bootstrap|html|css|bus|route|no|number|season|episode|sides?|ratio|radius|base|height|sum|probability"
    r"|rolling|roll|rolled|"
    r"sprints|rows?|top|last|next|first|past|previous|every|each|per|another|other|exactly|getting|drawing|draw"
    r"|drew|choose|"
    r"objects?|numbers)|[A-Z][\w.+#-]*|[=+*^×·/−<>])\s?$"
)
_PRONOUN_END = re.compile(r"\b(?:I|It|We|My|Now|Only|About|Around|Nearly|Almost|Over|At|With|To|Of)\s$")
_STATUS = re.compile(
    r"\s?(?:errors?|not found|unauthorized|internal|bad request|ok\b|status|response code|people? in a)", re.IGNORECASE
)

# "by 30%" and "a 15% improvement" say how much it changed, not how much it is.
_DELTA_BEFORE = re.compile(r"\bby (?:about |around |nearly |over |an? )?$", re.IGNORECASE)
_DELTA_AFTER = re.compile(
    r"\s?(?:[a-z]+ )?(?:improvement|increase|decrease|reduction|raise|drop|boost|growth|gain|discount|off|faster"
    r"|slower|more|less|fewer|extra"
    r"|additional|new|ago|later|earlier|old)\b",
    re.IGNORECASE,
)
# "over 2 weeks" says in what time.
_PERIOD_BEFORE = re.compile(
    r"\b(?:over|in|within|after|during|for|since|the|past|last|next|every|each)\s$", re.IGNORECASE
)
_LONG_TIME = re.compile(r"(?:day|week|month|year)s?$", re.IGNORECASE)
_THESE = re.compile(r"\b(?:these|those|the|both|other)\s$", re.IGNORECASE)
_SURE = re.compile(
    r"\s?(?:sure|agree|behind|certain|support|convinced|with you|on board|committed|honest)\b", re.IGNORECASE
)
_SCORED = re.compile(r"\b(?:scor|correct|right|got|answered|rating|rated|grade)", re.IGNORECASE)
_FORMULA = re.compile(r"[=×√∠°²³∩\\^]|\bprobability of\b|\bformula\b|\d[CP]\d|\bsided\b", re.IGNORECASE)


def numbers_of(prose: str, start: int, end: int) -> Iterator[tuple[re.Match[str], str, str]]:
    """The numbers of the clause from `start` to `end` that state an amount: the match, whose last group is its kind,
    and what stands before and after it in the clause."""
    if MAY_HAVE.search(prose, start, end) is None or _FORMULA.search(prose, start, end):
        return
    matches = list(islice(_QUANTITY.finditer(prose, start, end), MOST))
    for i, match in enumerate(matches):
        if not _is_past(prose, match, matches[i + 1 : i + 2]):
            left = prose[max(start, match.start() - NEAR) : match.start()]
            right = prose[match.end() : min(end, match.end() + NEAR)]
            if _states_amount(match.group(), left, right, match.lastgroup or ""):
                yield match, left, right


def _states_amount(number: str, left: str, right: str, kind: str) -> bool:
    if _DELTA_BEFORE.search(left) or _DELTA_AFTER.match(right):
        return False
    if kind == "measure" and _PERIOD_BEFORE.search(left) and _LONG_TIME.search(number):
        return False
    if kind == "part" and _SCORED.search(left + right) is None:
        return False
    return kind in ("date", "clock", "money") or not _is_a_name(left, right, kind)


_TO = re.compile(r"\s?(?:[a-z]+ ){0,2}(?:up |down )?to\s", re.IGNORECASE)


_ONCE = re.compile(r"\b(?:initially|previously|formerly|used to be) $", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween (?:[^,;.]{1,24} and )?$", re.IGNORECASE)


def _is_past(prose: str, match: re.Match[str], after: list[re.Match[str]]) -> bool:
    """Of "from 70% to 90%" the first is past; and of "from April 25 to May 1" or "between" neither is a state."""
    left = prose[max(0, match.start() - 16) : match.start()]
    if after and left.endswith("from "):
        return _TO.fullmatch(prose, match.end(), after[0].start()) is not None
    return (
        _ONCE.search(left) is not None or _BETWEEN.search(prose, max(0, match.start() - 40), match.start()) is not None
    )


def _is_a_name(left: str, right: str, kind: str) -> bool:
    # "these two factors" counts nothing, "100% sure" measures nothing.
    if (kind == "word" and _THESE.search(left)) or (kind == "measure" and _SURE.match(right)):
        return True
    named = _NAMED.search(left[-24:])
    if (
        named
        and not _PRONOUN_END.search(left[-12:])
        and not (kind == "measure" and not named.group().strip().isalpha())
    ):
        return left.strip() != "" or named.group().strip() != ""
    return kind == "count" and _STATUS.match(right) is not None
