"""Moving something out of the way without losing it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path


def set_aside(path: Path) -> Path:
    """Renames a file or folder; where it is now. Whoever has it open keeps it. Raises OSError."""
    stamp, number = datetime.now(UTC).strftime("%Y%m%dT%H%M%S"), 0
    while (target := path.with_name(f"{path.name}.aside-{stamp}-{number}")).exists():
        number += 1
    return path.rename(target)
