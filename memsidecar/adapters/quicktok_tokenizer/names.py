"""From what a caller calls a tokenizer or a model to an encoding."""

from __future__ import annotations

import re

ESTIMATE = "estimate"

ALIASES = {
    "o200k": "o200k",
    "o200k_base": "o200k",
    "o200k_harmony": "o200k",  # the same words; only the special tokens differ, and none is counted
    "cl100k": "cl100k",
    "cl100k_base": "cl100k",
    "llama3": "llama3",
    "qwen3": "qwen3",
    ESTIMATE: ESTIMATE,
}

ENCODINGS = tuple(dict.fromkeys(ALIASES.values()))

FAMILIES = tuple(
    (re.compile(pattern), encoding)
    for pattern, encoding in (
        (r"(chatgpt-|gpt-)(4o|4\.1|4\.5|[5-9]|oss)", "o200k"),
        (r"(o[134]|codex|computer-use)(-|$)", "o200k"),
        (r"gpt-(4|3\.5|35)(-|$)", "cl100k"),
        (r"text-embedding-", "cl100k"),
        (r"(meta-)?llama-?3", "llama3"),
        (r"(qwen|qwq|qvq)", "qwen3"),
    )
)
"""The first that matches the start of the model's name wins."""

_MODEL_NAME = re.compile(r"(?=.*[-/:])[a-z0-9][a-z0-9._:/@+-]{1,199}")


def encoding_of(name: str) -> str | None:
    """The encoding that `name` is, or whose family its model is of; None for any other."""
    name = name.strip().lower()
    if (encoding := ALIASES.get(name.replace("-", "_"))) is not None:
        return encoding
    model = name.removeprefix("ft:").rsplit("/", 1)[-1]
    return next((encoding for pattern, encoding in FAMILIES if pattern.match(model)), None)


def is_model_name(name: str) -> bool:
    """Whether `name` could be a model: at most 200 letters, digits and ._:/@+- with at least one - / or :, as
    `mistral-large`, `phi3:mini` and `deepseek/chat`. One word alone is taken for a misspelt encoding.
    """
    return _MODEL_NAME.fullmatch(name.strip().lower()) is not None
