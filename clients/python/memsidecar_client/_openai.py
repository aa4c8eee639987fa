"""What a chunk of a model's stream says, by its shape: the openai package is not needed, nor another like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memsidecar_client._enums import TextSource

_RESPONSE_EVENTS: Mapping[str, TextSource] = {
    "response.output_text.delta": TextSource.MODEL,
    "response.reasoning_text.delta": TextSource.REASONING,
    "response.reasoning_summary_text.delta": TextSource.REASONING,
}
"""Events of the Responses API whose `delta` is text."""

_DELTA_FIELDS: Mapping[str, TextSource] = {
    # Two names for one thing, of servers that speak the Chat Completions API. None sends both.
    "reasoning_content": TextSource.REASONING,
    "reasoning": TextSource.REASONING,
    "content": TextSource.MODEL,
}
"""Fields of a chat completion chunk's `delta` that are text."""


def texts_of(chunk: object) -> Iterator[tuple[str, TextSource]]:
    """The text in a chunk of Chat Completions or an event of Responses, as objects or as plain JSON; or a plain text.

    Of several choices the first one; nothing for whatever else there is.
    """
    if isinstance(chunk, str):
        yield from _text(chunk, TextSource.MODEL)
        return
    source = _RESPONSE_EVENTS.get(str(_field(chunk, "type")))
    if source is not None:
        yield from _text(_field(chunk, "delta"), source)
        return
    choices = _field(chunk, "choices")
    if not isinstance(choices, list | tuple):
        return
    for choice in choices:
        if _field(choice, "index") in (0, None):
            delta = _field(choice, "delta")
            for name, field_source in _DELTA_FIELDS.items():
                yield from _text(_field(delta, name), field_source)


def _field(of: Any, name: str) -> Any:
    return of.get(name) if isinstance(of, Mapping) else getattr(of, name, None)


def _text(value: object, source: TextSource) -> Iterator[tuple[str, TextSource]]:
    if isinstance(value, str) and value:
        yield value, source


class Halves:
    """Makes texts of a stream such that they can be sent: a tokenizer cuts an emoji into halves of a surrogate pair now
    and then, which come in two chunks. NUL, and a half without the other one, become U+FFFD."""

    def __init__(self) -> None:
        self._first: dict[TextSource, str] = {}

    def joined(self, text: str, source: TextSource) -> str:
        """With the half that waits; one at the end waits for the next text of that source."""
        text = self._first.pop(source, "") + text
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._first[source] = text[:-1], text[-1]
        return _sendable(text)

    def rest(self) -> list[tuple[str, TextSource]]:
        """What still waits when the stream has ended."""
        halves, self._first = self._first, {}
        return [(_sendable(half), source) for source, half in halves.items()]


def _sendable(text: str) -> str:
    text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
