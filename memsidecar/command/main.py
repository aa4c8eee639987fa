"""From argv to an exit code: typed errors become one clear line, anything else is a bug and keeps its traceback."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from memsidecar import __version__
from memsidecar.command import exit_codes
from memsidecar.command.arguments import flags_given, parser, wrong_word
from memsidecar.command.settings import ConfigError, Loaded, load
from memsidecar.config import settings
from memsidecar.domain.errors import (
    DataDirectoryBusy,
    InvalidField,
    ModelUnavailable,
    SidecarError,
    StoreFull,
    StoreUnavailable,
    StoreUnusable,
)

_PASSING = (DataDirectoryBusy, ModelUnavailable, StoreFull, StoreUnavailable)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code (exit_codes.py). `argv` is without the program's name."""
    top = parser()
    try:
        words = sys.argv[1:] if argv is None else list(argv)
        if problem := wrong_word(top, words):
            _complain(problem)
            return exit_codes.USAGE
        arguments = top.parse_args(words)
    except SystemExit as stop:  # argparse has printed the help or what is wrong
        return int(stop.code or 0)
    if arguments.version:
        print(f"memsidecar {__version__}")
        return exit_codes.OK
    if arguments.command is None:
        top.print_help(sys.stderr)
        return exit_codes.USAGE
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except ConfigError as error:
        for problem in error.problems:
            _complain(problem)
        return exit_codes.USAGE
    except SidecarError as error:
        _complain(str(error))
        passing = isinstance(error, _PASSING) and not isinstance(error, StoreUnusable)
        return exit_codes.TRY_AGAIN if passing else exit_codes.PROBLEM
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.PROBLEM
    return code


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "version":
        from memsidecar.command.version import version

        return version()
    try:
        loaded = load(flags_given(arguments), os.environ, arguments.config_file)
    except ConfigError as error:
        if arguments.command != "doctor":
            raise
        from memsidecar.command.checks.outcome import fail
        from memsidecar.command.doctor import report

        fix = "`memsidecar serve --help` lists all settings"
        return report([("configuration", fail(problem, fix)) for problem in error.problems], arguments.json)
    try:
        return _run_configured(arguments, loaded)
    except InvalidField as error:
        # Of a setting: only the library behind it knew. Others are of what a command was given besides.
        if any(key not in settings() for key, _ in error.violations):
            raise
        loaded.refuse(error.violations)
        raise


def _run_configured(arguments: argparse.Namespace, loaded: Loaded) -> int:
    match arguments.command:
        case "serve":
            from memsidecar.command.serve import serve

            return serve(loaded)
        case "verify":
            from memsidecar.command.verify import verify

            return verify(_with_warnings(loaded), arguments.repair, arguments.json)
        case "backup":
            from memsidecar.command.backup import backup

            return backup(_with_warnings(loaded), arguments.target, arguments.json)
        case "restore":
            from memsidecar.command.restore import Asked, restore

            asked = Asked(arguments.source, arguments.at, arguments.to_revision, arguments.partition)
            return restore(_with_warnings(loaded), asked, arguments.set_aside, arguments.json)
        case "demo":
            from memsidecar.command.run_demo import run_demo

            return run_demo(_with_warnings(loaded), flags_given(arguments), arguments.config_file)
        case "probe":
            from memsidecar.command.probe import probe

            return probe(loaded.config.health, arguments.service)
        case "doctor":
            from memsidecar.command.doctor import doctor

            return doctor(_with_warnings(loaded).config, arguments.json)
        case _:
            from memsidecar.command.show_config import show_config

            return show_config(_with_warnings(loaded), arguments.json)


def _with_warnings(loaded: Loaded) -> Loaded:
    for warning in loaded.warnings:
        _complain(f"warning: {warning}")
    return loaded


def _complain(text: str) -> None:
    print(f"memsidecar: {text}", file=sys.stderr)
