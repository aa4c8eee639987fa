"""Texts to values and back, by what a setting is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit, urlunsplit

from memsidecar.config import Setting
from memsidecar.config.kinds import OCTAL, URL

MASK = "***"
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")


def parse(setting: Setting, text: str) -> Any:
    """The value that `text` stands for. Raises ValueError that says what is accepted."""
    text = text.strip()
    if setting.kind is str:
        if "\x00" in text:
            raise ValueError("must not hold a NUL")
        return text
    if setting.kind is Path:
        if not text or "\x00" in text:
            raise ValueError("must be a path")
        return Path(text)
    if setting.kind is bool:
        if text.lower() not in _TRUE + _FALSE:
            raise ValueError("must be true or false")
        return text.lower() in _TRUE
    if choices := get_args(setting.kind):
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return text
    return _number(setting, text)


def accepted(setting: Setting) -> str:
    """What may be given, for the help: `true|false`, `0..65535`, `use|e5`."""
    if choices := get_args(setting.kind):
        return "|".join(choices)
    if setting.kind is bool:
        return "true|false"
    if within := setting.within:
        return f"{_plain(setting, within.low)}..{_plain(setting, within.high)}"
    return "PATH" if setting.kind is Path else "TEXT"


def shown(setting: Setting, value: Any) -> str:
    """A value for people and for a YAML file, secrets masked. A text that YAML would misread is quoted."""
    if setting.secret:
        return f'"{MASK}"' if value else '""'
    if URL in setting.markers and value:
        return _quoted(_masked_url(str(value)))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _plain(setting, value)
    return _quoted(str(value))


def for_json(setting: Setting, value: Any) -> Any:
    """A value for JSON, secrets masked."""
    if setting.secret:
        return MASK if value else ""
    if URL in setting.markers and value:
        return _masked_url(str(value))
    if OCTAL in setting.markers:
        return _plain(setting, value)
    return str(value) if isinstance(value, Path) else value


def _number(setting: Setting, text: str) -> int | float:
    octal = OCTAL in setting.markers
    within = setting.within
    expected = "must be a whole number" if setting.kind is int else "must be a number"
    if octal:
        expected = "must be a number in octal"
    if within:
        unit = f" {within.unit}" if within.unit else ""
        expected += f" from {_plain(setting, within.low)} to {_plain(setting, within.high)}{unit}"
    try:
        number = int(text.lower().removeprefix("0o"), 8) if octal else setting.kind(text)
    except ValueError:
        raise ValueError(expected) from None
    if not math.isfinite(number) or (within and not within.low <= number <= within.high):
        raise ValueError(expected)
    return int(number) if setting.kind is int else float(number)


def _plain(setting: Setting, number: float) -> str:
    if OCTAL in setting.markers:
        return f"{int(number):04o}"
    return str(int(number)) if float(number).is_integer() else str(number)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"' if escaped != text or not text or not _is_plain(text) else text


def _is_plain(text: str) -> bool:
    """Whether YAML and people read the bare text as this text."""
    special = text.lower() in (*_TRUE, *_FALSE, "null", "~", "y", "n") or text[0].isdigit()
    return not special and all(char.isalnum() or char in "/._-+~" for char in text) and text[0] not in "-+.~"


def _masked_url(url: str) -> str:
    """The URL with its password masked. One that cannot be split is masked whole."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    if "password=" in parts.query:
        parts = parts._replace(query=MASK)
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return MASK if "@" in url else urlunsplit(parts)
    name = user.partition(":")[0]
    netloc = f"{name}:{MASK}@{host}" if ":" in user else f"{name}@{host}"
    return urlunsplit(parts._replace(netloc=netloc))
