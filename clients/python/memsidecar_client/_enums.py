"""The enumerations of the contract. Numbers are those on the wire."""

from __future__ import annotations

from enum import IntEnum


class OpenEnum(IntEnum):
    """An enumeration that a newer server may have extended: an unlisted number is a value named UNRECOGNIZED_<n>."""

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        if not isinstance(value, int):
            return None
        unlisted = int.__new__(cls, value)
        unlisted._name_ = f"UNRECOGNIZED_{value}"
        unlisted._value_ = value
        return unlisted

    def __str__(self) -> str:
        return self.name


class MemoryKind(OpenEnum):
    """Which body a memory carries."""

    UNSPECIFIED = 0
    FACT = 1
    PREFERENCE = 2
    ENTITY = 3
    EPISODE = 4
    PROCEDURE = 5


class MemoryState(OpenEnum):
    """Where a memory stands in its life."""

    UNSPECIFIED = 0
    ACTIVE = 1
    SUPERSEDED = 2
    DISPUTED = 3
    DORMANT = 4
    DELETED = 5
    EXPIRED = 6


class EpisodeOutcome(OpenEnum):
    """How an episode ended."""

    UNSPECIFIED = 0
    SUCCESS = 1
    FAILURE = 2
    PARTIAL = 3


class MemoryChange(OpenEnum):
    """What made a revision."""

    UNSPECIFIED = 0
    CREATED = 1
    MERGED = 2
    UPDATED = 3
    DELETED = 4
    UNDELETED = 5
    PURGED = 6
    SUPERSEDED = 7
    DISPUTED = 8
    RESTORED = 9
    DATED = 10
    UNITED = 11
    PARTED = 12
    ERASED = 13
    """A purge has erased what this revision was: that there was one is all that is left."""


class MemoryOrder(OpenEnum):
    """The order of a list; unspecified is oldest first."""

    UNSPECIFIED = 0
    OLDEST_FIRST = 1
    NEWEST_FIRST = 2


class WriteWait(OpenEnum):
    """How far a write must get before its call returns; unspecified is searchable."""

    UNSPECIFIED = 0
    DURABLE = 1
    SEARCHABLE = 2


class RememberAction(OpenEnum):
    """What became of one thing that was to be remembered.

    SUPERSEDED: created, and what it contradicts was superseded, or it is history itself, because what is known is
    newer. CONFLICT_FLAGGED: created, and disputed like what it contradicts. DECLINED: found in a text and not stored.
    """

    UNSPECIFIED = 0
    CREATED = 1
    MERGED = 2
    SUPERSEDED = 3
    DUPLICATE = 4
    CONFLICT_FLAGGED = 5
    DECLINED = 6


class ConflictState(OpenEnum):
    """Where a conflict stands."""

    UNSPECIFIED = 0
    OPEN = 1
    RESOLVED = 2
    DISMISSED = 3
    UNDONE = 4


class ConflictRule(OpenEnum):
    """Why memories conflict: another value, opposite wishes, said and denied, done and never done."""

    UNSPECIFIED = 0
    VALUE = 1
    POLARITY = 2
    NEGATION = 3
    EXPERIENCE = 4


class ConflictPolicy(OpenEnum):
    """What a write does when it contradicts what is stored; unspecified is what the server is configured for.

    AUTO supersedes when the user states it, it is not older and not less certain, and flags otherwise.
    """

    UNSPECIFIED = 0
    AUTO = 1
    SUPERSEDE = 2
    FLAG = 3
    REJECT = 4
    KEEP_BOTH = 5
    ASK = 6
    MOST_CONFIDENT = 7
    SOURCE_PRIORITY = 8


class ConflictResolution(OpenEnum):
    """How a conflict was settled: the losers were true until the winner was, or never were; both hold; each in its own
    time; none was right."""

    UNSPECIFIED = 0
    CHANGED = 1
    CORRECTED = 2
    KEPT_BOTH = 3
    SPLIT = 4
    REPLACED = 5


class JobKind(OpenEnum):
    """What a job does."""

    UNSPECIFIED = 0
    EXTRACTION = 1


class JobState(OpenEnum):
    """Where a job stands; the last three are final. WAITING tries again by itself."""

    UNSPECIFIED = 0
    PENDING = 1
    RUNNING = 2
    WAITING = 3
    SUCCEEDED = 4
    FAILED = 5
    CANCELLED = 6


class Tier(OpenEnum):
    """One way to find a memory: in the conversation that is going on, by meaning, by the entities named, by its words,
    or because it is new.

    A reranker finds nothing; it puts in order what the others found.
    """

    UNSPECIFIED = 0
    SESSION = 1
    VECTOR = 2
    GRAPH = 3
    KEYWORD = 4
    RECENCY = 5
    RERANKER = 6


class TierOutcome(OpenEnum):
    """How one tier ended."""

    UNSPECIFIED = 0
    OK = 1
    TIMED_OUT = 2
    UNAVAILABLE = 3
    SKIPPED = 4


class FeedbackKind(OpenEnum):
    """What was done with a recalled memory; wrong is what was not true, or not about what was asked."""

    UNSPECIFIED = 0
    USED = 1
    IGNORED = 2
    WRONG = 3


class TextSource(OpenEnum):
    """Where streamed text came from; unspecified is the model. What the model wrote and what the user typed is
    remembered at the end, if asked for; reasoning and tool results never are."""

    UNSPECIFIED = 0
    MODEL = 1
    REASONING = 2
    TOOL = 3
    USER = 4


class RetractionReason(OpenEnum):
    """Why a memory that was sent no longer holds; purged is erased for good."""

    UNSPECIFIED = 0
    SUPERSEDED = 1
    UPDATED = 2
    DELETED = 3
    EXPIRED = 4
    PURGED = 5
    NO_LONGER_VISIBLE = 6


class GenerationOutcome(OpenEnum):
    """How a generation ended."""

    UNSPECIFIED = 0
    COMPLETED = 1
    STOPPED = 2
    FAILED = 3


class Role(OpenEnum):
    """Who spoke."""

    UNSPECIFIED = 0
    SYSTEM = 1
    USER = 2
    ASSISTANT = 3
    TOOL = 4


class ContextFormat(OpenEnum):
    """How a context is rendered; unspecified is Markdown."""

    UNSPECIFIED = 0
    MARKDOWN = 1
    XML = 2
    MESSAGES = 3


class ContextSectionKind(OpenEnum):
    """A part of a context. They come in this order: profile, facts, episodes, summary, scratch, window."""

    UNSPECIFIED = 0
    PROFILE = 1
    SUMMARY = 2
    FACTS = 3
    EPISODES = 4
    SCRATCH = 5
    WINDOW = 6


class OmissionReason(OpenEnum):
    """Why something is not in a context. UNPAIRED: a tool call without all results, or a result without its call."""

    UNSPECIFIED = 0
    BUDGET = 1
    DUPLICATE = 2
    LOW_SCORE = 3
    DISPUTED = 4
    UNPAIRED = 5
