"""What agents say of the memories that they recalled, and what that makes of a memory's usefulness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

# Not being needed once says little: a hit may be true and about the topic, and the answer needed another one.
IGNORED_COUNTS = 0.25
# Being wrong does more harm than being useful does good.
WRONG_COUNTS = 2.0
# Verdicts of "neither" that every memory is taken to have: a single verdict moves it a little, many move it far.
PRIOR = 4.0


class Verdict(IntEnum):
    """What the agent did with a hit. Numbers are stored and are part of the API; never renumber."""

    USED = 1
    IGNORED = 2
    WRONG = 3


@dataclass(frozen=True, slots=True)
class Feedback:
    """How often each verdict was given on what a memory says now."""

    used: int = 0
    ignored: int = 0
    wrong: int = 0

    def plus(self, verdict: Verdict) -> Feedback:
        match verdict:
            case Verdict.USED:
                return replace(self, used=self.used + 1)
            case Verdict.IGNORED:
                return replace(self, ignored=self.ignored + 1)
            case Verdict.WRONG:
                return replace(self, wrong=self.wrong + 1)

    @property
    def usefulness(self) -> float:
        """The mean verdict, between -1 and 1: used is 1, ignored -0.25, wrong -1 (and said twice), unknown 0.

        Unknown is said PRIOR times of every memory, so that the mean starts at 0 and one verdict moves it by a fifth of
        the way to used, by a third to wrong, and by a twentieth for ignored. It never reaches either end.
        """
        said = self.used + self.ignored + WRONG_COUNTS * self.wrong
        return (self.used - IGNORED_COUNTS * self.ignored - WRONG_COUNTS * self.wrong) / (said + PRIOR)


NO_FEEDBACK = Feedback()
