"""What a rule reads and writes into: a clause of a text, and the claims that are found in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from memsidecar.domain.attributes import slot_of
from memsidecar.domain.claims import Claim, Manner, Span, TimeRole
from memsidecar.domain.extraction.times import TimeFound
from memsidecar.domain.memory import Kind

LONGEST_STATEMENT = 300
_JOIN = re.compile(
    r"^[\s,]*(?:(?:and|but|so|because|or|though|although|since|plus)\s|(?:而且|并且|但是?|不过|所以"
    r"|因为|另外|还有))(?=\S)",
    re.IGNORECASE,
)

# Of these one mostly has one, and says so when it is one more.
_SEVERAL = frozenset(("employer", "job", "school"))
_SHORT = frozenset(
    ("employer", "job", "school", "lives_in", "from", "name", "preferred_name", "spouse", "pet", "owns", "studies")
)
# Speech without punctuation: what follows is a sentence of its own, and no part of the value.
_RUNS_ON = re.compile(
    r"\s(?:[iI]|[iI]m|[iI]'m|[iI]'ve|we)\s(?:\w+\s){0,2}?(?:live|work|am|have|moved|like|love|hate|got|was|now)\b"
)
_ADDS = re.compile(
    r"\b(?:also|too|as\swell|besides|in\saddition|on\sthe\sside|on\s(?:the\s)?weekends|part[- ]time|second\sjob)\b"
    r"|[也还](?=在|是|兼)|另外|同时|兼职?",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Reading:
    """A text being read. `text` is the masked one and as long as `original`, of which values and statements are."""

    original: str
    text: str
    start: int = 0
    end: int = 0
    """The clause."""
    sentence: Span = field(default_factory=lambda: Span(0, 0))
    sentences: int = 0
    """How many sentences were looked at closely."""
    claims: list[Claim] = field(default_factory=list)
    time: TimeFound | None = None
    """The time that the clause names, once a rule has looked for it."""

    def add(
        self,
        attribute: str,
        value: Span | str,
        *,
        subject: str = "",
        negated: bool = False,
        polarity: float = 0.0,
        manner: Manner = Manner.STATED,
        confidence: float = 0.9,
        timed: bool = True,
        since: bool = False,
        entity_type: str = "",
        only_denies: bool = False,
    ) -> None:
        """One more claim of the clause. `since`: what it says holds from the time on that is named."""
        known = slot_of(attribute)
        words = self.original[value.start : value.end] if isinstance(value, Span) else value
        words = " ".join(words.split())
        if not words or (known is not None and known[0].key in _SHORT and _RUNS_ON.search(words)):
            return
        time = self.time if timed else None
        role = time.role if time is not None else TimeRole.AT
        if since and role is TimeRole.AT and time is not None:
            role = TimeRole.FROM
        if manner is Manner.STATED and attribute in _SEVERAL and not negated and self._adds():
            manner = Manner.ADDED
        found = Claim(
            kind=known[0].kind if known is not None else Kind.FACT,
            attribute=attribute,
            value=words,
            statement=self.statement(),
            span=Span(self.start, self.end),
            subject=subject,
            negated=negated,
            polarity=polarity,
            manner=manner,
            confidence=confidence,
            importance=known[0].importance if known is not None else 0.6,
            time=time.span if time is not None else None,
            time_role=role,
            entity_type=entity_type,
            only_denies=only_denies,
        )
        if not any(replace(found, span=other.span, statement=other.statement) == other for other in self.claims):
            self.claims.append(found)

    def _adds(self) -> bool:
        return _ADDS.search(self.text, self.start, self.end) is not None

    def statement(self) -> str:
        """The clause as written, without the word that joins it to what stands before."""
        start, end = self.start, self.end
        words = " ".join(self.original[start : min(end, start + LONGEST_STATEMENT)].split())
        return _JOIN.sub("", words).strip(" ,;:-–—")
