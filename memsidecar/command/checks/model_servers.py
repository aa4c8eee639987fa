"""The servers of models, asked as the process will ask them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from memsidecar.command.checks.outcome import Outcome, fail, ok, warn
from memsidecar.config import Config
from memsidecar.config.models import Embedding, Extraction


def embedding(config: Config) -> Outcome:
    """Asks for one vector."""
    settings = config.embedding
    if settings.provider != "openai":
        return ok(f"not needed for embedding.provider {settings.provider}")
    body: dict[str, object] = {"model": settings.model, "input": ["hello"]}
    if settings.dimensions:
        body["dimensions"] = settings.dimensions
    later = "until then writes are accepted and embedded later, and recall goes by words and graph"
    answer = _asked(settings, "embedding", "embeddings", body, later)
    if isinstance(answer, Outcome):
        return answer
    try:
        size = len(json.loads(answer)["data"][0]["embedding"])
    except (ValueError, LookupError, TypeError):
        return _of_another_kind(settings, "embeddings", "embedding", "vectors")
    if settings.dimensions and size != settings.dimensions:
        return fail(
            f"{settings.model} gives {size} numbers, not {settings.dimensions}", f"set embedding.dimensions to {size}"
        )
    return ok(f"{settings.model} answers with {size} numbers")


def extraction(config: Config) -> Outcome:
    """Asks for a word."""
    settings = config.extraction
    if settings.mode != "llm":
        return ok(f"not needed for extraction.mode {settings.mode}")
    body = {"model": settings.model, "messages": [{"role": "user", "content": "Answer with the one word: yes"}]}
    later = "until then what the rules find is remembered, and the rest waits"
    answer = _asked(settings, "extraction", "chat/completions", body, later)
    if isinstance(answer, Outcome):
        return answer
    try:
        json.loads(answer)["choices"][0]["message"]
    except (ValueError, LookupError, TypeError):
        return _of_another_kind(settings, "chat/completions", "extraction", "a chat's answer")
    return ok(f"{settings.model} answers")


def _asked(
    settings: Embedding | Extraction, section: str, path: str, body: Mapping[str, Any], later: str
) -> bytes | Outcome:
    """What the server answers, or what is wrong. Never the server's own words: they can repeat the key."""
    url = _url(settings, path)
    if not url.startswith(("http://", "https://")):
        return fail(f"{section}.base_url is not an http(s) address", "write it as https://host/v1")
    headers = {"Content-Type": "application/json"}
    if settings.api_key:
        headers["Authorization"] = f"Bearer {settings.api_key}"
    try:
        with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=settings.timeout) as answer:
            content: bytes = answer.read()
            return content
    except HTTPError as error:
        key, model = f"set {section}.api_key_file", f"check {section}.model"
        advice = {401: key, 403: key, 404: model}.get(error.code, "look at its log")
        return warn(f"{url} answers {error.code}", f"{advice}; {later}")
    except (URLError, OSError) as error:
        return warn(f"{url} does not answer ({type(error).__name__})", f"check {section}.base_url; {later}")
    except ValueError:
        return fail(f"{section}.base_url is not an http(s) address", "write it as https://host/v1")


def _of_another_kind(settings: Embedding | Extraction, path: str, section: str, wanted: str) -> Outcome:
    return fail(
        f"{_url(settings, path)} does not answer with {wanted}", f"check {section}.base_url: it usually ends in /v1"
    )


def _url(settings: Embedding | Extraction, path: str) -> str:
    return f"{settings.base_url.rstrip('/')}/{path}"
