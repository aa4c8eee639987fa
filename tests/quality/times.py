"""Score the reading of time expressions: python -m tests.quality.times DATA.jsonl [--half 0|1]

Prints the accuracy by language and every item that is wrong. An item is right when both ends are the expected ones to
the second, or nothing is found where nothing is expected. References without a zone are taken as UTC.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memsidecar.adapters.time_expressions import GrammarTimeExpressions
from memsidecar.domain.time_span import TimeSpan

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(text: str | None) -> int | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(seconds=1)


def expected(item: dict[str, Any]) -> tuple[int | None, int | None] | None:
    return None if item["start"] is None and item["end"] is None else (seconds(item["start"]), seconds(item["end"]))


def found(span: TimeSpan | None) -> tuple[int | None, int | None] | None:
    if span is None:
        return None
    start = None if span.start is None else span.start // 1_000_000
    return start, None if span.end is None else (span.end - 1) // 1_000_000


def readable(span: tuple[int | None, int | None] | None) -> str:
    if span is None:
        return "nothing"
    return "..".join("open" if end is None else str(_EPOCH + timedelta(seconds=end))[:19] for end in span)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.times", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only this half of the texts, by their checksum")
    arguments = parser.parse_args()
    times = GrammarTimeExpressions()
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    with arguments.data.open(encoding="utf-8") as file:
        for line in filter(str.strip, file):
            item = json.loads(line)
            if arguments.half is not None and zlib.crc32(item["text"].encode()) % 2 != arguments.half:
                continue
            reference = datetime.fromisoformat(item["reference"])
            span = times.resolve(item["text"], reference if reference.tzinfo else reference.replace(tzinfo=UTC))
            language = item.get("lang", "")
            total[language] += 1
            if found(span) == expected(item):
                right[language] += 1
            else:
                print(f"{item['id']} {item['reference']} {item['text'][:80]!r}: {readable(found(span))}, "
                      f"expected {readable(expected(item))}")  # fmt: skip
    for language in (*sorted(total), "all"):
        good, of = (right[language], total[language]) if language != "all" else (right.total(), total.total())
        print(f"{language:4} {good}/{of} = {100 * good / of:.1f} %" if of else f"{language}: no items")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
