"""The models that are asked: what makes vectors, orders hits and reads texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from memsidecar.config.kinds import Secret, Within


@dataclass(frozen=True, slots=True)
class Embedding:
    """What turns text into vectors."""

    provider: Literal["use", "e5", "use+e5", "openai", "client", "none"] = "use"
    """use: local, 2 ms a text, any machine. e5: local, 20 to 500 ms a text, better on short statements and worse on
    preferences, needs AVX2 on x86. use+e5: both in one vector. openai: any server with that API. client: agents send
    vectors. none: recall by words and graph."""
    model: str = ""
    """Model name for openai, or the name that clients' vectors go by. Empty: the local provider's own."""
    dimensions: Annotated[int, Within(0, 16_384)] = 0
    """Size of the vectors. 0: the model's own. client must say it."""
    base_url: str = "https://api.openai.com/v1"
    """Address of the OpenAI-compatible server."""
    api_key: Secret = field(default="", repr=False)
    """Key of that server. Empty: none is sent, for servers without keys."""
    api_key_file: str = ""
    """File that holds the key, such as a mounted Secret."""
    timeout: Annotated[float, Within(0.1, 600, "s")] = 20.0
    """Seconds for one attempt. A batch on a busy CPU server takes several."""
    cache_mb: Annotated[int, Within(0, 65_536, "MiB")] = 64
    """Memory for vectors of texts seen before, about 40,000 of 384 numbers. 0: no cache."""
    batch: Annotated[int, Within(1, 64)] = 64
    """Texts in one request to the server. Reading the numbers of more would stop other calls; some servers take far
    fewer."""


@dataclass(frozen=True, slots=True)
class Reranker:
    """A model that puts the best hits in order. Recalled texts are sent to it."""

    provider: Literal["none", "openai", "rerank"] = "none"
    """none: off, because its wait is certain and its gain is not. openai: any chat model with that API that keeps to a
    JSON schema. rerank: a server with a /rerank endpoint, such as vLLM with a cross-encoder."""
    model: str = ""
    """Model name, as the server knows it."""
    base_url: str = "https://api.openai.com/v1"
    """Address of the server."""
    api_key: Secret = field(default="", repr=False)
    """Key of that server. Empty: none is sent, for servers without keys."""
    api_key_file: str = ""
    """File that holds the key, such as a mounted Secret."""
    top_n: Annotated[int, Within(2, 100)] = 20
    """Hits that it is shown. More cost time and tokens, and the best is rarely further down."""
    timeout: Annotated[float, Within(0.05, 60, "s")] = 2.0
    """Seconds that a recall waits for it; then the order without it stands, and the answer says so."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """How facts and preferences are found in what is remembered as text."""

    mode: Literal["rules", "llm", "none"] = "rules"
    """rules: what English and Chinese phrases state, at once, with no model. llm: the rules, and afterwards a model
    that reads what they find worth it; conversations are sent to it. none: text stays text."""
    min_importance: Annotated[float, Within(0, 1)] = 0.6
    """Importance that what was found needs to be remembered. 0.3 keeps passing details, too, which outnumber the
    rest. What a caller says to remember is never measured by it."""
    sensitive: Literal["consent", "store"] = "consent"
    """What becomes of what is found of health, religion, politics, sexuality, and of numbers that open something.
    consent: it stays in the text and becomes no fact, because nobody has agreed to it. store: the users have agreed.
    Allergies and diets are always kept: an agent that forgets them does harm."""
    model: str = ""
    """Model name for llm, as the server knows it. Any chat model; one that keeps to a JSON schema is asked to."""
    base_url: str = "https://api.openai.com/v1"
    """Address of the OpenAI-compatible server."""
    api_key: Secret = field(default="", repr=False)
    """Key of that server. Empty: none is sent, for servers without keys."""
    api_key_file: str = ""
    """File that holds the key, such as a mounted Secret."""
    timeout: Annotated[float, Within(1, 600, "s")] = 60.0
    """Seconds for one attempt. Nobody waits for it but a job, and a model on a CPU writes 10 tokens a second."""
    batch: Annotated[int, Within(1, 64)] = 8
    """Turns in one request. They explain each other; of many more, models leave some out."""
