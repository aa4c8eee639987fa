"""Lists such as `team=search,tier=gold`, as OpenTelemetry's variables have them."""

from __future__ import annotations

from urllib.parse import unquote

from memsidecar.domain.errors import InvalidField


def read_key_values(text: str, setting: str) -> dict[str, str]:
    """The values by key, both percent-decoded. Raises InvalidField, which names the setting and never quotes a value:
    it may be a secret."""
    found: dict[str, str] = {}
    for place, part in enumerate(filter(str.strip, text.split(",")), 1):
        key, equals, value = part.partition("=")
        name = unquote(key.strip())
        if not equals or not name:
            raise InvalidField(setting, f"entry {place} is not of the form key=value; write a=1,b=2")
        if not (name + unquote(value)).isprintable():
            raise InvalidField(setting, f"entry {place} holds a character that cannot be printed")
        found[name] = unquote(value.strip())
    return found
