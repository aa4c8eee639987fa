"""What a chat server understands of a request, found out by what it refuses.

Servers differ in three things: how an answer is held to a schema, how its length is limited, and whether a temperature
may be said. None of them tells beforehand, and all answer HTTP 400 in words of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import openai

BLAMED = (400, 413, 422)
"""What servers say when they do not like what is in a request."""

# 403 is a key without rights, and with OpenRouter also a text that its moderation has flagged.
_MAY_BLAME_TEXT = (*BLAMED, 403)
_FILTERED = ("content_filter", "content filter", "content management", "content_policy", "content policy", "moderation")
_TOO_LONG = (
    "context length",
    "context_length",
    "context size",
    "context window",
    "too many tokens",
    "prompt is too long",
)
_FORMAT = ("response_format", "json_schema", "json_object", "schema", "grammar", "structured output", "guided")
_LIMIT = ("max_tokens", "max_completion_tokens")
_MOST_READ = 4_000


class Form(IntEnum):
    """How the answer is held to what is wanted, from the surest to the most widely known."""

    SCHEMA = 1
    OBJECT = 2
    PLAIN = 3


class Blame(IntEnum):
    """What a refusal is about."""

    FILTERED = 1
    """The text: the provider does not want to read it."""
    TOO_LONG = 2
    UNKNOWN = 3
    """The text, or the request as such: another text tells."""


@dataclass(frozen=True, slots=True)
class Dialect:
    form: Form = Form.SCHEMA
    limit: str = "max_tokens"
    """Name of the parameter that limits the answer; empty: none is sent."""
    temperature: bool = True

    def options(self, schema: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
        """The part of a request's body that depends on the server."""
        options: dict[str, Any] = {}
        if self.temperature:
            options["temperature"] = 0
        if self.limit:
            options[self.limit] = max_tokens
        if self.form is Form.SCHEMA:
            options["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "claims", "strict": True, "schema": schema},
            }
        elif self.form is Form.OBJECT:
            options["response_format"] = {"type": "json_object"}
        return options

    def after(self, refusal: openai.APIStatusError, *, proven: bool) -> Dialect | Blame | None:
        """What to try next, or what the refusal is about; None when it is about neither the text nor the request.

        `proven` says that this dialect has been understood before.
        """
        if refusal.status_code not in _MAY_BLAME_TEXT:
            return None
        # Read, never repeated: it may quote the text.
        words = refusal.response.text[:_MOST_READ].lower()
        if any(word in words for word in _FILTERED):
            return Blame.FILTERED
        if refusal.status_code == 403:
            return None
        if refusal.status_code == 413 or any(word in words for word in _TOO_LONG):
            # Some servers count the longest answer among the text.
            named = self.limit and any(word in words for word in _LIMIT)
            return replace(self, limit="") if named else Blame.TOO_LONG
        if self.temperature and "temperature" in words:
            return replace(self, temperature=False)
        if self.limit and any(word in words for word in _LIMIT):
            return replace(self, limit="max_completion_tokens" if self.limit == "max_tokens" else "")
        says_format = any(word in words for word in _FORMAT)
        if self.form is not Form.PLAIN and (says_format or not proven):
            return replace(self, form=Form(self.form + 1))
        return Blame.UNKNOWN
