"""The model that reads conversations, as it is configured."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from memsidecar.bootstrap.extraction import open_extractor
from memsidecar.config import Config
from memsidecar.config.models import Extraction
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.ports.extraction import Turn
from tests.doubles.chat_server import chat_server


@pytest.mark.parametrize("mode", ["rules", "none"])
async def test_without_a_model_there_is_none(mode: str) -> None:
    async with AsyncExitStack() as stack:
        assert open_extractor(Config(extraction=Extraction(mode, model="m")), (), stack) is None  # type: ignore[arg-type]


async def test_a_model_is_asked_as_it_is_configured_and_closed_in_the_end() -> None:
    async with chat_server() as server:
        settings = Extraction("llm", model="m", base_url=server.base_url, api_key="hush", batch=2)
        async with AsyncExitStack() as stack:
            extractor = open_extractor(Config(extraction=settings), ("lives_in",), stack)
            assert extractor is not None
            assert len(server.requests) == 0
            assert len(await extractor.extract([Turn("a"), Turn("b"), Turn("c")])) == 3
        assert [request["model"] for request in server.requests] == ["m", "m"]
        assert server.authorizations == ["Bearer hush"] * 2
        assert "lives_in" in server.requests[0]["messages"][0]["content"]
        with pytest.raises(ModelUnavailable, match="closed"):
            await extractor.extract([Turn("a")])
