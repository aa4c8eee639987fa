"""English rules for what somebody likes, avoids and prefers, and how he wants to be answered."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction.english_changes import given_up, prefers_no_more, stopped_doing
from memsidecar.domain.extraction.english_clauses import Head
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import english_time
from memsidecar.domain.extraction.values import cut, items, trimmed

_POLARITY = {
    "love": 1.0,
    "loved": 1.0,
    "adore": 1.0,
    "like": 0.7,
    "liked": 0.7,
    "enjoy": 0.7,
    "enjoyed": 0.7,
    "hate": -1.0,
    "hated": -1.0,
    "despise": -1.0,
    "detest": -1.0,
    "loathe": -1.0,
    "abhor": -1.0,
    "dislike": -0.7,
    "disliked": -0.7,
    "avoid": -0.8,
    "refuse": -0.9,
    "stand": -1.0,
    "bear": -1.0,
    "tolerate": -0.9,
}
_ONLY_NEGATED = frozenset(("stand", "bear", "tolerate"))
_PAST = frozenset(("loved", "liked", "enjoyed", "hated", "disliked"))
# What is liked is in front of the eyes, or in the talk, and is not known later.
_DEICTIC = re.compile(
    r"(?:(?:option|version|choice|answer|question|it|its|it's|this|that|these|those|them|they|him|her"
    r"|me|us|you|your|yours|u|both|all"
    r"|everything|nothing|something(?!\s(?:that|with))|anything(?!\s\w)|one|each|how|what|when|where"
    r"|why|if|whether|who|hearing"
    r"|seeing\s(?:you|your|how|that|the|them)|to\s(?:hear|know|see|add|use|make|have|get|be|say|think"
    r"|believe|talk|chat|help|thank|ask|start|include|focus|discuss|share|understand"
    r"|keep|do|go\sover|implement|create|show|call|give|know|learn|improve|work|visit|admit|consider)"
    r"|being\sable|having\s(?:you|your)|talking\s(?:to|with)\syou|chatting|the\s(?:way|idea|fact|look"
    r"|sound|part|concept|suggestion|analogy|one|ones|thought|vibe|colou?rs?|design|new|picture|photo"
    r"|pic"
    r"|help|support|effort|energy|passion|enthusiasm|detail|insight|feedback|advice|approach|first"
    r"|second|third)|his|more|such|some(?!\w)|so|myself|each|another|not|no|\ufffc)"
    r"(?![\w-])|the\s[a-z]+\s(?:you|in\sthis|in\sthat|of\s(?:this|that|your)|on\s(?:this|that|your)"
    r"|for\s(?:this|that))\b|.{0,40}\b(?:you|your|here|of\sthis|of\sthat|this\stime)\b)",
    re.IGNORECASE,
)
_THE_OK = re.compile(
    r"the\s(?:[A-Z]|beach|ocean|sea|mountains?|outdoors|rain|snow|sun|cold|heat|summer|winter|smell"
    r"|sound\sof|taste|feeling|color|colour|city|countryside|theat|gym|piano|guitar|violin)"
)
# Of what was just spoken, near the beginning.
_POINTS = re.compile(r"\b(?:it|them|ones?)\b")
_MORE_THAN = re.compile(r"\s(?:more|better)\sthan\s")
_OVER = re.compile(r"\s(?:over|to|rather\sthan|instead\sof|than)\s")
_RATHER = re.compile(r"\s+(?P<what>[a-z].{2,100}?\sthan\s[a-z][^,.;]{1,60})", re.IGNORECASE)
_FAN = re.compile(
    r"(?:an?\s+)?(?P<how>(?:big|huge|massive|total|die-hard|great|real|lifelong|avid|strong|firm"
    r"|passionate)\s)?(?:fan|lover|supporter|advocate|enthusiast)\s(?:of|for)\s+"
)
_INTO = re.compile(
    r"(?:into|fond\sof|passionate\sabout|crazy\sabout|obsessed\swith|keen\son|addicted\sto"
    r"|in\slove\swith|hooked\son|partial\sto)\s+"
)
_NOT_IN = re.compile(r"interested\sin\s+")
_AGAINST = re.compile(
    r"(?:averse\sto|sick\sof|tired\sof|scared\sof|afraid\sof|terrified\sof|opposed\sto|sensitive\sto"
    r"|uncomfortable\swith)\s+"
)
_STYLE = re.compile(
    r"\W*(?:(?:so|ok|okay|also|and|please|hey|hi)\b[\s,]*)*(?:(?:from\snow\son|going\sforward"
    r"|in\s(?:the\s)?future|for\sfuture\sreference|moving\sforward|in\sall\s(?:your\s)?(?:replies"
    r"|answers|responses))[\s,:]*(?:please\s)?"
    r"(?P<wish>(?:i\swant\syou\sto\s|always\s|never\s|don't\s|do\snot\s|only\s|keep\s|use\s|be\s"
    r"|answer|reply|respond|give|write|call\sme|format|include|avoid|explain|speak|talk|address|stop"
    r"|start|make)[^\n]{2,260})"
    r"|(?:please\s)?(?P<always>(?:always|never)\s(?:answer|reply|respond|use|include|give|format|write"
    r"|provide|keep|add|cite|speak|address|explain|start|end|show|call\sme|mention)\b[^\n]{2,260}))",
    re.IGNORECASE,
)
# "Never give up" is no wish about answers.
_STANDING = re.compile(
    r"\b(?:when(?:ever)?\s(?:i|you|we)|if\si|in\s(?:your|all)|answers?|answering|replies|reply"
    r"|responses?|respond|explanations?|explain(?:ing)?|emojis?|bullets?|examples?"
    r"|tone|jargon|cite|sources?|format|call\sme)\b",
    re.IGNORECASE,
)
_ANY_MORE = re.compile(r"\bany\s?more\b|\bno\slonger\b")
_TO = re.compile(r"\s+to\s+")
_CHANGED = re.compile(r"\b(?:(?<!right\s)(?<!for\s)now|nowadays|these\sdays|instead|any\s?more)\W*$")


def likes(reading: Reading, head: Head) -> None:
    """Of verbs of liking and disliking."""
    verb = head.verb
    if head.relation or head.modal or (head.be and head.be != "been"):
        return
    if verb in _ONLY_NEGATED and not head.negated:
        return
    if verb in _PAST and not head.used and "'ve" not in head.words and "have" not in head.words:
        return
    polarity = _POLARITY[verb]
    if head.negated and verb not in _ONLY_NEGATED:
        polarity = -0.6 if polarity > 0 else 0.3
    if head.strong and abs(polarity) > 0.3:
        polarity = 1.0 if polarity > 0 else -1.0
    manner = head.manner
    if head.used:
        polarity, manner = (-0.4 if polarity > 0 else 0.4), Manner.CHANGED
    elif head.negated and _ANY_MORE.search(reading.text, head.start, head.end):
        manner = Manner.CHANGED
    start = head.after
    if verb == "refuse":
        found = _TO.match(reading.text, start, head.end)
        if found is None:
            return
        start = found.end()
    wishes(reading, head, start, polarity, manner)


def wishes(reading: Reading, head: Head, start: int, polarity: float, manner: Manner) -> None:
    """Each thing from `start` on, as liked or not."""
    text = reading.text
    rest = text[start : head.end].lstrip()
    if not rest or (_DEICTIC.match(rest) and not _THE_OK.match(rest)):
        return
    if rest.startswith("the ") and not _THE_OK.match(rest):
        return
    end = cut(text, start, head.end, wish=True, commas=False)
    span = trimmed(text, start, end)
    if span is None:
        return
    if text.startswith("to ", span.start):
        span = Span(span.start + (8 if text.startswith("to just ", span.start) else 3), span.end)
    if text.startswith("my ", span.start - 3) and span.start >= 3:
        span = Span(span.start - 3, span.end)
    for part in items(text, span):
        written = text[part.start : part.end]
        if _DEICTIC.match(written) or _POINTS.search(written[:24]):
            continue
        if _MORE_THAN.search(written):
            reading.add("prefers", part, polarity=0.8, manner=manner)
        else:
            reading.add("likes", part, polarity=polarity, manner=manner)
            if polarity < 0 and (manner is Manner.CHANGED or _CHANGED.search(text, head.start, head.end)):
                prefers_no_more(reading, part, polarity)


def prefers(reading: Reading, head: Head) -> None:
    """Of "prefer" and "would rather"."""
    text = reading.text
    if head.relation or head.be:
        return
    if head.verb == "rather":
        found = _RATHER.match(text, head.after, head.end)
        if found is not None and not {"'d", "would"}.isdisjoint(head.words):
            span = trimmed(text, found.start("what"), found.end("what"))
            if span is not None and not _DEICTIC.match(text[span.start : span.end]):
                reading.add("prefers", span, polarity=0.8, manner=head.manner)
        return
    if head.modal or head.negated or head.used:
        return
    end = cut(text, head.after, head.end, wish=True, commas=False)
    span = trimmed(text, head.after, end)
    if span is not None and text.startswith("not ", span.start):
        wishes(reading, head, span.start + len("not "), -0.7, head.manner)
        return
    if (
        span is None
        or _POINTS.search(text[span.start : span.end][:24])
        or (_DEICTIC.match(text[span.start : span.end]) and not text.startswith("to ", span.start))
    ):
        return
    if (
        text.startswith("to ", span.start)
        and re.match(r"to\s(?:be|see|know|have|keep|go\swith)\b", text[span.start : span.end])
        and not _OVER.search(text, span.start, span.end)
    ):
        return
    if text.startswith("to ", span.start):
        span = Span(span.start + 3, span.end)
    changed = head.manner is Manner.STATED and _CHANGED.search(text, head.start, head.end) is not None
    reading.add("prefers", span, polarity=0.8, manner=Manner.CHANGED if changed else head.manner)


def fancies(reading: Reading, head: Head) -> bool:
    """Of "am a big fan of", "am into", "am tired of"; whether it was one."""
    text, at = reading.text, head.verb_at
    if head.relation or head.modal or head.past or not head.be:
        return False
    polarity = -0.6 if head.negated else 0.8
    found = _FAN.match(text, at, head.end) or _INTO.match(text, at, head.end)
    if found is None and head.negated:
        found = _NOT_IN.match(text, at, head.end)
    if found is None:
        found = _AGAINST.match(text, at, head.end)
        polarity = 0.3 if head.negated else -0.7
    if found is None:
        return False
    manner = Manner.CHANGED if head.negated and _ANY_MORE.search(text, head.start, head.end) else head.manner
    wishes(reading, head, found.end(), polarity, manner)
    return True


_FEELING = re.compile(
    r"\s+an?\s+(?:[a-z]+\s){0,2}(?P<sign>aversion|dislike|preference|love|passion|distaste|soft\sspot"
    r"|phobia|fear|hatred)\s+(?:to|of|for|towards?|against)\s+"
)


def has_feeling(reading: Reading, head: Head) -> bool:
    """Of "have a strong aversion to"; whether it was one."""
    found = _FEELING.match(reading.text, head.after, head.end)
    if found is None or head.relation or head.negated or head.modal or head.past:
        return False
    sign = found.group("sign")
    wishes(
        reading,
        head,
        found.end(),
        -0.8 if sign in ("aversion", "dislike", "distaste", "phobia", "fear", "hatred") else 0.8,
        head.manner,
    )
    return True


_KEEP = re.compile(
    r"\W*(?:please\s)?(?P<keep>(?:keep|don't|do\snot|never|always|avoid"
    r"|stop)\s[^\n]{0,80}\byour\s(?:answers|replies|responses|explanations)\b[^\n]{0,80})"
    r"|\W*(?:please\s)?(?P<on>(?:answer|reply|respond|write|speak|talk|keep|use|don't|do\snot|be|give"
    r"|stop|avoid)\s[^\n]{2,160}?),?\sfrom\snow\son\W*$",
    re.IGNORECASE,
)


def answer_style(reading: Reading) -> bool:
    """How the speaker wants to be answered from now on: all wishes said at once are one; whether there was one."""
    text, start, end = reading.text, reading.start, reading.end
    if (found := _STYLE.match(text, start, end)) and (found.group("wish") or _STANDING.search(found.group())):
        group = "wish" if found.group("wish") else "always"
    elif found := _KEEP.match(text, start, end):
        group = "keep" if found.group("keep") else "on"
    else:
        return False
    reading.add("answer_style", Span(*found.span(group)), polarity=1.0)
    return True


_CONSUMING = re.compile(r"\s+(?:eating\s+|drinking\s+)?(?=[a-z])")
_NOT_STOPPED = re.compile(
    r"\s+(?:my|the|working|being|doing|trying|using|by|at|for|in|a|an|and|to|it|that|this|on|talking"
    r"|thinking|waiting|hoping|looking|searching|asking|caring|believing|following|when|because|job|school|college)\b"
)


def stopped(reading: Reading, head: Head) -> None:
    """Of "stopped drinking coffee", "quit smoking", "gave up sugar"."""
    text = reading.text
    start = head.after
    if head.verb != "gave":
        stopped_doing(reading, head)
    if head.verb == "gave":
        if not text.startswith(" up ", start):
            return
        start += len(" up")
    if head.relation or head.negated or head.modal or _NOT_STOPPED.match(text, start, head.end):
        return
    found = _CONSUMING.match(text, start, head.end)
    if found is not None and (head.verb == "gave" or text[found.start() : head.end].split()[0].endswith("ing")):
        reading.time = english_time(text, head.start, head.end)
        stop = reading.time.outer.start if reading.time is not None else head.end
        span = trimmed(text, found.end(), min(stop, cut(text, found.end(), head.end)))
        if span is not None and len(text[span.start : span.end].split()) < 5:
            reading.add("likes", span, polarity=-0.6, manner=Manner.CHANGED, since=True)
            if head.verb == "gave" and not text[span.start : span.end].split()[0].endswith("ing"):
                given_up(reading, [span])


LIKES = {
    **dict.fromkeys(_POLARITY, likes),
    **dict.fromkeys(("prefer", "rather"), prefers),
    **dict.fromkeys(("stopped", "gave"), stopped),
}
