"""The labelled sentences, and what of them the rules get right."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from memsidecar.domain.claims import Claim, Manner
from memsidecar.domain.extraction.extract import extract

_FOLDER = Path(__file__).parent
_LABEL = re.compile(
    r"(?:(?P<subject>.*?): )?(?P<attribute>[a-z_]+(?::[\w ]+)?) = (?P<value>.*?)(?: \((?P<flags>[a-z+ -]+)\))?"
    r"(?: @(?P<role>at|from|until) (?P<time>.*))?"
)
_ARTICLE = re.compile(r"^(?:a|an|the) ", re.IGNORECASE)


@dataclass(frozen=True)
class Said:
    """A claim, as far as labels go."""

    subject: str
    attribute: str
    value: str
    flags: frozenset[str]


@dataclass
class Score:
    right: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + len(self.missed))


def sentences(language: str) -> dict[str, list[str]]:
    """Sentences of a language with their labels."""
    loaded: dict[str, list[str]] = yaml.safe_load((_FOLDER / f"{language}.yaml").read_text("utf-8"))
    return loaded


def negatives(language: str) -> list[str]:
    """Sentences of a language from which nothing is read."""
    loaded: list[str] = yaml.safe_load((_FOLDER / f"{language}_none.yaml").read_text("utf-8"))
    return loaded


def labelled(label: str) -> tuple[Said, str, str]:
    """What a label expects: the claim, and the role and the words of its time (empty when it names none)."""
    found = _LABEL.fullmatch(label)
    assert found is not None, f"no label: {label}"
    flags = frozenset((found.group("flags") or "").split())
    said = Said(found.group("subject") or "", found.group("attribute"), _plain(found.group("value")), flags)
    return said, found.group("role") or "", found.group("time") or ""


def said_by(claim: Claim) -> Said:
    signs = [("not", claim.negated), ("+", claim.polarity > 0), ("-", claim.polarity < 0)]
    manners = [("changed", claim.manner is Manner.CHANGED), ("corrected", claim.manner is Manner.CORRECTED)]
    only = [("only", claim.only_denies)]
    flags = frozenset(flag for flag, holds in signs + manners + only if holds)
    return Said(claim.subject, claim.attribute, _plain(claim.value), flags)


def _plain(value: str) -> str:
    return _ARTICLE.sub("", value.strip()).lower()


def score(language: str) -> Score:
    """How many claims of all sentences of a language are right, wrong and missed."""
    total = Score()
    for text, labels in sentences(language).items():
        expected = [labelled(label)[0] for label in labels]
        for said in map(said_by, extract(text)):
            if said in expected:
                expected.remove(said)
                total.right += 1
            else:
                total.wrong.append(f"{text} -> {said}")
        total.missed += [f"{text} -> {said}" for said in expected]
    for text in negatives(language):
        total.wrong += [f"{text} -> {said_by(claim)}" for claim in extract(text)]
    return total
