"""The soak itself, for a moment: it runs, checks, and finds nothing wrong."""

from __future__ import annotations

import pytest

from tests.soak.__main__ import main


@pytest.mark.timeout(180)
def test_a_short_soak_keeps_every_promise(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--minutes", "0.1"]) == 0, capsys.readouterr().out
    assert "every promise kept" in capsys.readouterr().out
