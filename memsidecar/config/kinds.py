"""What a setting may be, beyond its type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final


@dataclass(frozen=True, slots=True)
class Within:
    """Marks a number that must lie between `low` and `high`, both included. `unit` is for the help only."""

    low: float
    high: float
    unit: str = ""


SECRET: Final = "secret"
"""Marks a text that is never printed or logged, and that no flag sets: any user can read another's command line."""

URL: Final = "url"
"""Marks a URL that may hold a password, which is masked when it is printed."""

OCTAL: Final = "octal"
"""Marks a number that is written in octal, as chmod takes it."""

Port = Annotated[int, Within(0, 65_535)]
Mebibytes = Annotated[int, Within(1, 1_048_576, "MiB")]
Seconds = Annotated[float, Within(0, 3_600, "s")]
Secret = Annotated[str, SECRET]
Url = Annotated[str, URL]
Mode = Annotated[int, OCTAL, Within(0o600, 0o777)]
