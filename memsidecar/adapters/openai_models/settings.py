"""What is configured about an OpenAI-compatible server, and why each default is what it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

KNOWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    model: str
    """As the server knows it."""

    api_key: str = field(default="", repr=False)
    """Empty for servers without keys."""

    base_url: str = "https://api.openai.com/v1"

    dimensions: int | None = None
    """Sent to the server only when set. Else the size is the known one, or the first answer's."""

    max_chars: int = 2_000
    """A byte-level token is at least one byte and a code point at most four, so 2,000 of them always fit the 8,191
    tokens of OpenAI's models: no text is ever too long. Set 400 or so for models with a window of 512."""

    max_batch: int = 64
    """Texts in a request. Reading the numbers stops the event loop: 64 rows of 1,536 take 20 to 40 ms. In base64 it is
    2 ms, and 256 a good choice. 1 helps with servers that number every row 0."""

    max_batch_chars: int = 200_000
    """Characters in a request: OpenAI accepts 300,000 tokens, and Chinese takes about one for each character."""

    encoding: Literal["float", "base64"] = "float"
    """How to ask for the numbers. Many compatible servers know no base64 (a quarter of the bytes); both are read."""

    timeout: float = 20.0
    """Seconds for one attempt."""

    attempts: int = 3
    """Tries for one request, the first one included."""

    backoff: float = 0.25
    """Seconds: the wait before try n is anything from 0 to this times 2^(n-2), so that many processes spread out."""

    max_wait: float = 5.0
    """Seconds: the longest wait between tries. A server that asks for more gets no more tries: the caller is told."""

    breaker_failures: int = 5
    """Failed tries in a row after which the server is left alone."""

    breaker_cooldown: float = 15.0
    """Seconds to leave it alone before one request tries again."""


@dataclass(frozen=True, slots=True)
class ExtractorSettings:
    model: str
    """As the server knows it."""

    api_key: str = field(default="", repr=False)
    """Empty for servers without keys."""

    base_url: str = "https://api.openai.com/v1"

    attributes: tuple[str, ...] = ()
    """Names that the model shall use for what they fit, so that two ways of saying one thing meet."""

    max_turns: int = 8
    """Turns in a request. They explain each other; of many more, models leave some out."""

    max_batch_chars: int = 6_000
    """Code points of turns in a request, and of a turn's piece: with the instructions some 2,500 tokens of English and
    7,000 of Chinese. Of a server with a smaller window, requests are halved until they fit."""

    max_turn_chars: int = 64_000
    """Code points of a turn that are read, in pieces: 11 requests. The longest that people type is a few thousand; what
    is longer was pasted, and says little of whoever pasted it."""

    max_answer_tokens: int = 4_096
    """Of an answer: some 30 claims. A small model that goes round in circles is stopped there."""

    timeout: float = 60.0
    """Seconds for one attempt, as a whole. Nobody waits but a job, and a CPU writes 10 tokens a second."""

    attempts: int = 3
    """Tries for one request, the first one included."""

    backoff: float = 0.5
    """Seconds: the wait before try n is anything from 0 to this times 2^(n-2), so that many processes spread out."""

    max_wait: float = 10.0
    """Seconds: the longest wait between tries. A server that asks for more gets no more tries: the job waits."""

    breaker_failures: int = 5
    """Failed tries in a row after which the server is left alone."""

    breaker_cooldown: float = 30.0
    """Seconds to leave it alone before one request tries again."""
