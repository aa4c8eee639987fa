"""The table of log fields is what the code writes."""

from __future__ import annotations

import ast
import json
import logging
import re
from pathlib import Path

from memsidecar.command.logs import JsonLines

ROOT = Path(__file__).parents[2]


def fields_written() -> set[str]:
    """Keys of every `extra=`, which must be a dictionary with its keys in the call."""
    found: set[str] = set()
    for path in (ROOT / "memsidecar").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "extra=" in text else ():
            for given in node.keywords if isinstance(node, ast.Call) else ():
                if given.arg == "extra":
                    assert isinstance(given.value, ast.Dict), path
                    for key in given.value.keys:
                        assert isinstance(key, ast.Constant), path
                        found.add(str(key.value))
    return found


def fields_of_every_line() -> set[str]:
    try:
        raise ValueError
    except ValueError as error:
        record = logging.makeLogRecord({"exc_info": (ValueError, error, error.__traceback__)})
    return set(json.loads(JsonLines().format(record)))


def test_every_field_is_in_the_table_and_no_other() -> None:
    text = (ROOT / "deploy/METRICS.md").read_text(encoding="utf-8").partition("## Log fields")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    assert len({name for name, *_ in rows}) == len(rows)
    assert {name for name, *_ in rows} == fields_written() | fields_of_every_line()
