"""The real process on a data directory of its own, and the real client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.process import Launch


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Starts sidecars; whatever still runs at the end of the test is killed."""
    launched = Launch(tmp_path)
    yield launched
    launched.close()


@pytest.fixture(params=["kuzu", "ladybug"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)
