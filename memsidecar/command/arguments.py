"""The parser, with a flag for every setting except secrets, made from the settings themselves."""

from __future__ import annotations

import argparse
import ast
import difflib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache

from memsidecar import config as config_module
from memsidecar.command.settings import FILE_VARIABLE, flag_of, variable_of
from memsidecar.command.values import accepted, shown
from memsidecar.config import Setting, settings

Parser = argparse.ArgumentParser

# (name, one line, whether it reads the configuration, flags of its own)
COMMANDS: tuple[tuple[str, str, bool, Callable[[Parser], None]], ...] = (
    ("serve", "run the sidecar until SIGTERM", True, lambda parser: None),
    ("config", "print the effective configuration and where each value comes from", True, lambda p: _json(p)),
    ("doctor", "check this machine and say how to fix what is wrong", True, lambda p: _json(p)),
    ("verify", "compare graph, vectors and keywords with the ledger", True, lambda p: _verify(p)),
    (
        "backup",
        "write a backup to a new directory, while the sidecar runs or not",
        True,
        lambda p: _backup(p),
    ),
    ("restore", "fill an empty data directory with a backup", True, lambda p: _restore(p)),
    ("probe", "ask the sidecar that runs here whether it serves", True, lambda p: _probe(p)),
    ("demo", "play a conversation and show what is recalled", True, lambda parser: None),
    ("version", "print the versions that a bug report needs", False, lambda parser: None),
)

DESCRIPTION = "The memory that runs beside an AI agent: a gRPC sidecar over a ledger, a graph and vectors."

EPILOG = f"""\
Every setting can be given as a flag (--embedding.provider e5), as an environment variable
(MEMSIDECAR_EMBEDDING_PROVIDER=e5) or in a YAML file (--config FILE or {FILE_VARIABLE}); flags win over variables,
variables over the file. `memsidecar serve --help` lists them all.

exit codes:
  0    done, nothing wrong
  1    a problem was found, or the command failed: a port that is in use, for example
  2    wrong flag or wrong configuration, said before anything is opened; `doctor` reports it among the rest, with 1
  75   try again later: the data directory is in use, or a store does not answer
  130  interrupted from the keyboard before it served
"""


# What a command takes besides options, as its usage shows it.
_OPERANDS = {"backup": "TARGET ", "restore": "SOURCE "}


def parser() -> Parser:
    """The parser of the whole command line. `command` in its result is a name from COMMANDS or None."""
    raw = argparse.RawDescriptionHelpFormatter
    top = Parser("memsidecar", description=DESCRIPTION, epilog=EPILOG, formatter_class=raw, allow_abbrev=False)
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary, configured, own_flags in COMMANDS:
        sub = commands.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".", allow_abbrev=False
        )
        own_flags(sub)
        if configured:
            sub.usage = f"memsidecar {name} {_OPERANDS.get(name, '')}[-h] [options] [settings]"
            _settings_flags(sub)
    return top


def wrong_word(top: Parser, words: Sequence[str]) -> str:
    """What is wrong with the command line's words, with the nearest right one; "" when argparse knows them all."""
    names = [name for name, *_ in COMMANDS]
    first = words[0] if words else "--help"
    if first.startswith("-") and first.partition("=")[0] not in ("-h", "--help", "--version"):
        return f"there is no flag {first} before the command; they come after it: memsidecar serve {first}"
    command = next((word for word in words if not word.startswith("-")), "")
    if command and command not in names:
        close = difflib.get_close_matches(command, names, 1, 0.5)
        advice = f"did you mean {close[0]}?" if close else f"they are {', '.join(names)}"
        return f"there is no command {command}; {advice}"
    _, unknown = top.parse_known_args(words)
    wrong = next((word for word in unknown if word.startswith("-")), "")
    if not wrong:
        return f"{unknown[0]} belongs to no flag" if unknown else ""
    flag = wrong.partition("=")[0]
    if not command:
        return f"there is no flag {flag}; `memsidecar --help` lists all"
    secret = next((s for s in settings().values() if s.secret and _spelt(flag_of(s)) == _spelt(flag)), None)
    if secret is not None:  # any user can read another's command line
        return f"{secret.key} is a secret, which no flag sets; use {flag_of(secret)}-file or {variable_of(secret)}"
    known = {_spelt(each): each for each in _flags_of(command)}
    close = difflib.get_close_matches(_spelt(flag), known, 1, 0.6)
    advice = f"did you mean {known[close[0]]}?" if close else f"`memsidecar {command} --help` lists all"
    return f"there is no flag {flag}; {advice}"


def _spelt(flag: str) -> str:
    return flag.replace(".", "-").replace("_", "-").lower()


def _flags_of(command: str) -> list[str]:
    (configured, own_flags) = next(row[2:] for row in COMMANDS if row[0] == command)
    own = Parser()
    own_flags(own)
    flags = re.findall(r"--[a-z-]+", own.format_help())
    if configured:
        flags += ["--config", *(flag_of(setting) for setting in settings().values() if not setting.secret)]
    return flags


def flags_given(arguments: argparse.Namespace) -> dict[str, str]:
    """The settings that the command line sets: text by key."""
    return {key: text for key in settings() if isinstance(text := getattr(arguments, key, None), str)}


@cache
def documentation() -> Mapping[str, str]:
    """What stands under each field in memsidecar/config, by key; of each section, by its name."""
    modules = {
        each.__module__ for each in vars(config_module).values() if isinstance(each, type) and is_dataclass(each)
    }
    classes = {
        node.name: node
        for module in modules
        for node in ast.parse(inspect.getsource(sys.modules[module])).body
        if isinstance(node, ast.ClassDef)
    }
    texts: dict[str, str] = {}

    def read(section: str, name: str) -> None:
        texts[section] = ast.get_docstring(classes[name]) or ""
        key = ""
        for node in classes[name].body:
            match node:
                case ast.AnnAssign(target=ast.Name(id=field), annotation=ast.Name(id=kind)) if (
                    kind in classes and not section
                ):
                    read(field, kind)
                    key = ""
                case ast.AnnAssign(target=ast.Name(id=field)):
                    key = f"{section}.{field}" if section else field
                case ast.Expr(value=ast.Constant(value=str(text))) if key:
                    texts[key] = " ".join(text.split())
                case _:
                    key = ""

    read("", "Config")
    return texts


def _settings_flags(sub: Parser) -> None:
    sub.add_argument("--config", metavar="FILE", dest="config_file", default="", help="YAML file with settings")
    groups: dict[str, argparse._ArgumentGroup] = {}
    for key, setting in settings().items():
        if setting.section not in groups:
            groups[setting.section] = sub.add_argument_group(
                setting.section or "settings", documentation()[setting.section] if setting.section else None
            )
        if setting.secret:
            continue
        flag = groups[setting.section].add_argument(
            flag_of(setting), dest=key, metavar=accepted(setting), help=_help(setting)
        )
        if setting.kind is bool:  # `--reflection` alone means true
            flag.nargs, flag.const = "?", "true"


def _help(setting: Setting) -> str:
    text = documentation()[setting.key]
    return f"{text} [{shown(setting, setting.default)}; {variable_of(setting)}]".replace("%", "%%")


def _json(sub: Parser) -> None:
    sub.add_argument("--json", action="store_true", help="print JSON")


def _probe(sub: Parser) -> None:
    sub.add_argument(
        "--service", metavar="NAME", default="readiness", help="liveness, startup or readiness [readiness]"
    )


def _verify(sub: Parser) -> None:
    _json(sub)
    sub.add_argument("--repair", action="store_true", help="rebuild from the ledger what differs from it")


def _backup(sub: Parser) -> None:
    sub.add_argument("target", metavar="TARGET", nargs="?", help="directory to make; it must not exist yet")
    _json(sub)


def _restore(sub: Parser) -> None:
    sub.add_argument("source", metavar="SOURCE", nargs="?", help="directory that `memsidecar backup` has made")
    sub.add_argument(
        "--at", metavar="TIME", help="leave out what was recorded later, such as 2026-11-30T10:00:00Z; no sessions"
    )
    sub.add_argument(
        "--to-revision",
        metavar="REVISION",
        help="leave out what came after this revision (a number, or an API's token) of --partition; no sessions",
    )
    sub.add_argument("--partition", metavar="NAME", help="whose revision: namespaces/NAMESPACE/users/USER")
    sub.add_argument(
        "--set-aside", action="store_true", help="keep what is in the data directory in a folder in it, and restore"
    )
    _json(sub)
