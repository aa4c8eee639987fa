"""A context as messages: what is recalled in one of its own as Markdown, the session's as they are."""

from __future__ import annotations

from memsidecar.domain.context.render_markdown import Markdown


class Messages(Markdown):
    window_is_text = False
