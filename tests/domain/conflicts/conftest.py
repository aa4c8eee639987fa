from __future__ import annotations

import pytest

from tests.domain.conflicts.knowledge import Knowledge


@pytest.fixture
def known() -> Knowledge:
    return Knowledge()
