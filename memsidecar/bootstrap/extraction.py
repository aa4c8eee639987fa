"""The model that reads conversations, when one is configured."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from memsidecar.config import Config
from memsidecar.ports.extraction import Extractor


def open_extractor(config: Config, attributes: Sequence[str], stack: AsyncExitStack) -> Extractor | None:
    """None unless `extraction.mode` is llm; closed with `stack`. Asks nothing of the server: it may be away.

    `attributes` are the names that the model is told to use for what they fit.
    """
    settings = config.extraction
    if settings.mode != "llm":
        return None
    # Its library is a third of everything that a start loads.
    from memsidecar.adapters.openai_models import ExtractorSettings, OpenAIExtractor

    extractor = OpenAIExtractor(
        ExtractorSettings(
            model=settings.model,
            api_key=settings.api_key,
            base_url=settings.base_url,
            attributes=tuple(attributes),
            max_turns=settings.batch,
            timeout=settings.timeout,
        )
    )
    stack.push_async_callback(extractor.close)
    return extractor
