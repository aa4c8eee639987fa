from __future__ import annotations

import io
import json
import logging

import pytest

from memsidecar.command.logs import configure
from memsidecar.config import Log


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(log: Log, stream: io.StringIO | None = None) -> tuple[logging.Logger, io.StringIO]:
    target = stream or io.StringIO()
    configure(log, target)
    return logging.getLogger("memsidecar.test"), target


def test_json_has_one_object_a_line_with_the_extra_fields() -> None:
    logger, out = lines(Log(format="json"))
    logger.info("stored %d\nlines", 2, extra={"partition": "p", "elapsed_ms": 1.5})
    (line,) = out.getvalue().splitlines()
    record = json.loads(line)
    assert record.pop("ts").endswith("Z")
    assert record == {
        "level": "info",
        "logger": "memsidecar.test",
        "msg": "stored 2\nlines",
        "partition": "p",
        "elapsed_ms": 1.5,
    }


def test_json_holds_the_traceback_of_an_error_on_the_same_line() -> None:
    logger, out = lines(Log(format="json"))
    try:
        raise OSError("boom")
    except OSError:
        logger.exception("failed")
    (line,) = out.getvalue().splitlines()
    assert json.loads(line)["error"].endswith("OSError: boom")


def test_a_value_that_json_does_not_know_and_a_lone_surrogate_do_not_lose_the_line() -> None:
    logger, out = lines(Log(format="json"))
    logger.info("odd \udc80", extra={"thing": {1, 2}})
    assert json.loads(out.getvalue())["thing"] == "{1, 2}"


def test_text_is_one_line_whatever_a_value_holds() -> None:
    logger, out = lines(Log(format="text"))
    logger.warning("user %s", "ann\n2026-01-01 error forged", extra={"count": 3})
    (line,) = out.getvalue().splitlines()
    assert line.endswith("warning memsidecar.test: user ann\\n2026-01-01 error forged count=3")


@pytest.mark.parametrize(("stream", "is_json"), [(io.StringIO(), True), (Terminal(), False)])
def test_auto_is_text_on_a_terminal_and_json_elsewhere(stream: io.StringIO, is_json: bool) -> None:
    logger, out = lines(Log(), stream)
    logger.info("hello")
    assert out.getvalue().startswith("{") is is_json


def test_the_level_is_memsidecars_and_libraries_stay_at_warning() -> None:
    logger, out = lines(Log(level="debug", format="text"))
    logger.debug("ours")
    logging.getLogger("openai").debug("a whole request, with somebody's memory in it")
    logging.getLogger("openai").warning("theirs")
    assert [line.split(": ")[1] for line in out.getvalue().splitlines()] == ["ours", "theirs"]


def test_configuring_again_replaces_what_was_there() -> None:
    _, first = lines(Log())
    logger, second = lines(Log())
    logger.warning("once")
    assert first.getvalue() == ""
    assert second.getvalue().count("once") == 1
