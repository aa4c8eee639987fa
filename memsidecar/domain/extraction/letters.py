"""With which letters names begin: a big one, or any of a script that has no big and small ones."""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

from memsidecar.domain.text import CJK

# Latin with all its marks, Greek, Cyrillic, Armenian; Hebrew, Arabic, the scripts of India and South-East Asia.
_READ = range(0xAA, 0x2000)


def _runs() -> str:
    """Ranges of a character class, those of ASCII and of China, Japan and Korea left out."""
    points = [p for p in _READ if unicodedata.category(chr(p)) in ("Lu", "Lt", "Lo") and chr(p) not in "ªº"]
    runs = (list(run) for _, run in groupby(enumerate(points), lambda item: item[1] - item[0]))
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)


BIG = f"A-Z{_runs()}{CJK}"
"""The inside of a character class. Without it "I moved to Łódź" and "I moved to 東京" name no place."""
BEGINS_NAME = re.compile(f"[{BIG}]")
