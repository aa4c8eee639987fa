"""What of a text is its speaker's own prose, clause by clause: code, logs, links and quotations are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from memsidecar.domain.text import HAN

# Rules read this much of a long text, as those for names do.
MAX_CHARS = 20_000
MAX_STATEMENT = 300
"""Characters of a statement."""
MAX_CLAUSES = 120
"""And this many of its clauses: what is longer is no turn of a chat."""
# A line longer than this is read as prose without asking whether it is code.
_LONG_LINE = 400


class Mood(IntEnum):
    """What a clause does."""

    STATES = 1
    ASKS = 2
    """Asks or tells somebody to do something; what it takes for granted may still be so."""
    SUPPOSES = 3
    """Only thinks of it: "if", "for example", 如果."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Code points `start` to `end` of the text. `sentence` counts the sentences; `own` says that the sentence speaks of
    the speaker himself (I, my, we, 我)."""

    start: int
    end: int
    mood: Mood
    sentence: int
    own: bool


# Every repeat is bounded or cannot begin twice in one place, so that no text makes a rule slow.
_FENCE = re.compile(r"```|~~~")
_ASIDE = re.compile(
    r"`[^`\n]{1,300}`"
    r"|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』|《[^》\n]{1,100}》"
    r"|(?<![A-Za-z0-9])'[^'\n]{2,300}'(?![A-Za-z0-9])"
    r"|https?://[^\s<>\"，。、]{1,500}|<[/a-zA-Z][^<>\n]{0,200}>"
    r"|\\\([^\n]{1,300}?\\\)|\$\$[^$\n]{1,300}\$\$"
    r"|\[[^\[\]\n]{1,300}\](?:\([^()\n]{1,300}\))?"
)
# A line that a machine wrote or reads, not a person: code, a log, a quotation, a table.
_MACHINE_LINE = re.compile(
    r"\s*(?:>|(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL)\b|\||[#@]?\w+\s*[=:]\s*[\"'\[{(]|\d{4}-\d\d-\d\d[T ]\d\d:"
    r"|Traceback|File |at [\w.$]+\(|(?:def|class"
    r"|import|from|return|"
    r"const|let|var|public|private|void|int|elif|else:|for \(|if \(|#include|<|\$ |git |npm |pip ))"
)
_MACHINE_END = re.compile(r"(?:[;{}\\]|\)\s*:|\{\s*|=>)\s*$")
_SENTENCE_END = re.compile(r"[.!?]+(?=[\s\"'”)\]]|$)|[。！？；]+|\n+")
_BREAK = re.compile(
    r"[,;:](?!\d)(?! \d{4}\b)|[()，：（）、]|\s[-–—]+\s|—"
    r"|\b(?:but|because|considering|given|since(?= (?:i|we|my|our|it|the|there|this|they|he|she|i['’]ve)\b)"
    r"|although|though|whereas|while|despite|so|especially|now that"
    r"|(?:the fact|noticed|that means) that"
    r"|after|where|which|who"
    r"|and(?= (?:I|we|my|our|it|now|recently|currently|can|could|how|what|have|has|got|am|is|the number"
    r"|[a-z]+ed)\b))\b"
    r"|但是?|因为|所以|而且|不过|虽然|如果"
)
_RESTART = re.compile(
    r"(?:but |and |so |since |because |considering |given |especially |although |though |while |now that "
    r"|whereas |which |who "
    r"|after |despite |the fact |noticed |that means )+",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|i['’](?:m|ve|d|ll)|my|mine|we|we['’](?:re|ve)|our|me)\b|[我咱俺]", re.IGNORECASE)
_OWN_START = re.compile(
    r"(?:and |but |so |then |well |also |plus |actually |now )*(?:i|i['’](?:m|ve|d)|my|we|we['’](?:re|ve)|our|it"
    r"|it's|"
    r"this|the)\b|[我咱它]",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:and |but |so |or |then |well |also |hmm |okay |ok |yeah |sure |please |maybe |just )*"
    r"(?:can|could|would|will|should|shall|may|is|are|was|were|am|do|does|did|has|have (?:i|you|we|they)"
    r"|what(?:['’]s)?|how"
    r"(?:['’]s)?|which|why|when (?:should|do|does|is|will)|where|who|whose|please|give|write|list|create|find"
    r"|calculate|compute"
    r"|generate|make|explain|show|tell|help|let|provide|suggest|recommend|solve|convert|rewrite|summari[sz]e"
    r"|design|draft|"
    r"add|act|imagine|draw|describe|translate|i(?:['’]d| would) like you to|i want you to|i need you to)\b"
    r"|请|帮我|给我|写[一个篇段首]|列出?|推荐|生成|翻译|能不能|可以|怎么|如何|什么|为什么|是否|多少|哪",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"(?:and |but |so |or |like |maybe |say |even |only |as )*(?:if|suppose|supposing|imagine|assume|assuming"
    r"|let['’]s say|"
    r"what if|unless|in case|for example|for instance|e\.g|such as|like (?:a|an|if|when)\b|example"
    r"|hypothetically|would)\b"
    r"|.{0,4}(?:如果|假如|假设|要是|比如|例如|万一|想象|听说|据说|梦见|梦到|假装|才怪)",
    re.IGNORECASE,
)
_SUPPOSES_LATER = re.compile(
    r"\b(?:i wish|i dream|i pretend|rumou?r|had i|were i|when i was (?:a|little|young)|if i|if we|if you|what if"
    r"|i would have|would be|could be|might be|torn between|deciding between"
    r"|choose between|whether)\b",
    re.IGNORECASE,
)
# One of these is in all that `_SUPPOSES_LATER` finds, and found much quicker.
_MAY_SUPPOSE = (
    *("if ", "would ", "could be", "might be", "whether", "when i was", "had i", "were i", "between", "rumo", "wish"),
    *("dream", "pretend"),
)
_HAN_QUESTION = re.compile(r"[吗呢么]\s*$|多少|几[个次点天本岁]")
_HAS_HAN = re.compile(rf"[{HAN}]")


def statement_of(prose: str, clause: Clause, before: list[Clause], start: int, end: int) -> str:
    """The sentence that says what stands from `start` to `end`; of a long one, the clause and what leads to it."""
    first = max(clause.start, min(start, end - MAX_STATEMENT))
    for earlier in reversed(before):
        if end - earlier.start > MAX_STATEMENT:
            break
        first = earlier.start
    last = min(clause.end, max(end, first + MAX_STATEMENT))
    return " ".join(prose[first:last].split()).strip(" ,;:-")


def prose_of(text: str) -> str:
    """The text with everything that is not its speaker's prose replaced by spaces, at most `MAX_CHARS` of it: the
    places of what is left are those of the text."""
    text = text[:MAX_CHARS]
    if "```" in text or "~~~" in text:
        text = _without_fences(text)
    text = _ASIDE.sub(_blank, text)
    return "\n".join(" " * len(line) if _is_machines(line) else line for line in text.split("\n"))


def _without_fences(text: str) -> str:
    parts: list[str] = []
    at, inside = 0, False
    for fence in _FENCE.finditer(text):
        piece = text[at : fence.start()]
        parts.append(_blanked(piece) if inside else piece)
        parts.append("\n  ")
        at, inside = fence.end(), not inside
    rest = text[at:]
    parts.append(_blanked(rest) if inside else rest)
    return "".join(parts)


def _blanked(text: str) -> str:
    return " " * len(text)


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())


def _is_machines(line: str) -> bool:
    return len(line) <= _LONG_LINE and (
        _MACHINE_LINE.match(line) is not None or _MACHINE_END.search(line[-8:]) is not None or line.startswith("    ")
    )


def clauses_of(prose: str) -> list[Clause]:
    """The clauses of what `prose_of` gave, in order."""
    return list(islice(_all_clauses(prose), MAX_CLAUSES))


def _all_clauses(prose: str) -> Iterator[Clause]:
    start, sentence = 0, 0
    for end in _SENTENCE_END.finditer(prose):
        yield from _clauses(prose, start, end.start(), sentence, asked=end.group()[0] in "?？")
        start, sentence = end.end(), sentence + 1
    yield from _clauses(prose, start, len(prose), sentence, asked=False)


def _clauses(prose: str, start: int, end: int, sentence: int, asked: bool) -> Iterator[Clause]:
    body = prose[start:end]
    if not body or body.isspace():
        return
    own = _OWN.search(body) is not None
    mood, first = Mood.STATES, start
    borders = [(start + b.start(), start + b.end()) for b in _BREAK.finditer(body)]
    for stop, after in [*borders, (end, end)]:
        piece = prose[first:stop]
        words = piece.strip()
        if words:
            mood = _mood(words, mood, relative=first > start)
            last = stop == end
            if last and asked and (first == start or not _OWN_START.match(words)):
                mood = Mood.ASKS if mood is Mood.STATES else mood
            yield Clause(first, stop, mood, sentence, own)
        # The word that opens a clause belongs to it ("but I", "which has"); a comma does not.
        first = stop if after > stop and prose[stop].isalpha() else after


def _supposes_later(words: str) -> bool:
    low = words.lower()
    return any(word in low for word in _MAY_SUPPOSE) and _SUPPOSES_LATER.search(words) is not None


def _mood(words: str, before: Mood, relative: bool) -> Mood:
    opened = _RESTART.match(words)
    rest = words[opened.end() :] if opened else words
    if _SUPPOSES.match(rest) or _supposes_later(rest):
        return Mood.SUPPOSES
    if opened and relative and words[:5].lower() in ("which", "who i", "who h", "who a"):
        return before
    if _ASKS.match(rest):
        return Mood.ASKS
    if _HAS_HAN.search(words):
        return Mood.ASKS if _HAN_QUESTION.search(words) else Mood.STATES
    if opened or _OWN_START.match(rest):
        return Mood.STATES
    return before
