"""Structured lines on standard error: a JSON object for collectors, a plain line for people."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from memsidecar.config import Log

# What every LogRecord has; anything else was passed as `extra` and is the line's own.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure(log: Log, stream: TextIO | None = None) -> None:
    """Sends all loggers to `stream` (standard error) in the configured format; replaces what was set before.

    The level is memsidecar's. Libraries stay at warning whatever it is: at debug some log whole requests, and those
    hold people's memories.
    """
    target = stream or sys.stderr
    as_text = log.format == "text" or (log.format == "auto" and target.isatty())
    handler = logging.StreamHandler(target)
    handler.setFormatter(TextLines() if as_text else JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("memsidecar").setLevel(log.level.upper())


class JsonLines(logging.Formatter):
    """One object a line: ts, level, logger, msg, then the extra fields, then `error` with a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


class TextLines(logging.Formatter):
    """`time level logger: message key=value ...`, then a traceback on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        extra = "".join(f" {name}={value}" for name, value in _extra(record).items())
        text = f"{record.getMessage()}{extra}"
        # A value with line breaks must not look like another line of the log.
        safe = text.encode("unicode_escape").decode() if not text.isprintable() else text
        line = f"{_timestamp(record)} {record.levelname.lower():<7} {record.name}: {safe}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _timestamp(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OWN}
