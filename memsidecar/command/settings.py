"""From flags, environment and file to one Config, with where each value came from.

Flags win over `MEMSIDECAR_*` variables, those over the YAML file, that over OpenTelemetry's own variables (which say
something of traces only), those over the defaults. Everything that is wrong is reported at once, each problem with its
key, its source and what is accepted.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from memsidecar.command import otel_variables
from memsidecar.command.contradictions import contradictions
from memsidecar.command.values import parse, shown
from memsidecar.config import Config, Setting, build, settings

PREFIX = "MEMSIDECAR_"
FILE_VARIABLE = "MEMSIDECAR_CONFIG"
FILE_SUFFIX = "_file"
DEFAULT = "default"
# What Kubernetes sets for a Service called memsidecar or memsidecar-something.
_SERVICE_LINK = re.compile(r"MEMSIDECAR_(\w+_)?SERVICE_(HOST|PORT)(_\w+)?")


class ConfigError(Exception):
    """The configuration cannot be used. `problems` are whole sentences: key, value, source, what is accepted."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Loaded:
    """`sources` says for each key where its value came from; `warnings` are for the log."""

    config: Config
    sources: Mapping[str, str]
    warnings: tuple[str, ...]

    def refuse(self, problems: Iterable[tuple[str, str]]) -> None:
        """Raises ConfigError when there is any (key, problem), each with where its value came from."""
        if told := [f"{key}: {problem} ({self.sources.get(key, DEFAULT)})" for key, problem in problems]:
            raise ConfigError(told)


@dataclass(slots=True)
class _Reading:
    """What has been read so far: later readers win over earlier ones."""

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def take(self, setting: Setting, text: str, source: str, hint: str = "") -> None:
        try:
            self.values[setting.key] = parse(setting, text)
        except ValueError as error:
            what = shown(setting, text)
            self.problems.append(f"{setting.key} is {what} ({source}): {error}{hint}")
        self.sources[setting.key] = source


def variable_of(setting: Setting) -> str:
    """The environment variable that sets it: MEMSIDECAR_EMBEDDING_BASE_URL for embedding.base_url."""
    return PREFIX + setting.key.replace(".", "_").upper()


def flag_of(setting: Setting) -> str:
    """The flag that sets it: --embedding.base-url for embedding.base_url."""
    return "--" + setting.key.replace("_", "-")


def load(flags: Mapping[str, str], environment: Mapping[str, str], file: str = "") -> Loaded:
    """`flags` are texts by key; `file` is the YAML file, else the one that MEMSIDECAR_CONFIG names, else none.

    Raises ConfigError.
    """
    reading = _Reading()
    if path := file or environment.get(FILE_VARIABLE, ""):
        _read_file(reading, Path(path))
    _read_environment(reading, environment)
    for key, text in flags.items():
        reading.take(settings()[key], text, f"flag {flag_of(settings()[key])}")
    _read_otel(reading, environment)
    _read_secret_files(reading)
    if reading.problems:
        raise ConfigError(reading.problems)
    config = build(reading.values)
    sources = {key: reading.sources.get(key, DEFAULT) for key in settings()}
    loaded = Loaded(config, sources, tuple(reading.warnings))
    loaded.refuse(contradictions(config))
    return loaded


def _read_environment(reading: _Reading, environment: Mapping[str, str]) -> None:
    by_variable = {variable_of(setting): setting for setting in settings().values()}
    for name in sorted(name for name in environment if name.startswith(PREFIX) and name != FILE_VARIABLE):
        if name in by_variable:
            hint = ""
            if name.endswith("_PORT") and "://" in environment[name]:
                # Seen when a Service is called memsidecar-health.
                hint = "; Kubernetes sets this variable for a Service of that name: set enableServiceLinks to false"
            reading.take(by_variable[name], environment[name], f"environment {name}", hint)
        elif _SERVICE_LINK.fullmatch(name):
            continue
        elif close := difflib.get_close_matches(name, by_variable, 1, 0.85):
            # Not an error: Kubernetes adds variables of its own for a Service of that name.
            reading.warnings.append(f"environment variable {name} sets nothing; did you mean {close[0]}?")


def _read_otel(reading: _Reading, environment: Mapping[str, str]) -> None:
    if otel_variables.is_disabled(environment):
        reading.take(settings()[otel_variables.ENDPOINT], "", "environment OTEL_SDK_DISABLED")
        return
    own = set(reading.sources)
    if otel_variables.ENDPOINT not in own and (found := otel_variables.endpoint(environment)):
        reading.take(settings()[found.key], found.text, f"environment {found.variable}")
    if not reading.values.get(otel_variables.ENDPOINT):
        return
    for read in otel_variables.others(environment):
        try:
            for found in read():
                # headers and headers_file are two ways to set one thing.
                if found.key not in own and found.key + FILE_SUFFIX not in own:
                    reading.take(settings()[found.key], found.text, f"environment {found.variable}")
        except otel_variables.Unusable as error:
            reading.problems.append(str(error))


def _read_file(reading: _Reading, path: Path) -> None:
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        reading.problems.append(f"the configuration file {path} cannot be read: {error.strerror}")
        return
    except UnicodeDecodeError:
        reading.problems.append(f"the configuration file {path} is not UTF-8 text")
        return
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        reading.problems.append(f"{path}{where} is not YAML: {getattr(error, 'problem', None) or 'cannot be parsed'}")
        return
    if root is None:
        return
    known = settings()
    sections = {setting.section for setting in known.values()} - {""}
    seen: dict[str, str] = {}
    for key, value, source in _pairs(reading, root, "", path, sections):
        if key in seen:
            reading.problems.append(f"{key} is set twice ({seen[key]} and {source})")
        elif key not in known:
            reading.problems.append(f"{key} is not a setting ({source}); {_nearest(key, [*known, *sections])}")
        elif not isinstance(value, yaml.ScalarNode):
            reading.problems.append(f"{key} must be one value, not a list or a mapping ({source})")
        elif value.tag != "tag:yaml.org,2002:null":  # `key:` alone leaves the default
            # The text as written, not YAML's reading of it, where 0660 is 432 and `no` is false.
            reading.take(known[key], value.value, source)
        seen[key] = source


def _pairs(
    reading: _Reading, node: yaml.Node, section: str, path: Path, sections: set[str]
) -> Iterator[tuple[str, yaml.Node, str]]:
    if not isinstance(node, yaml.MappingNode):
        what = f"{section} must hold settings" if section else "the configuration file must hold settings"
        reading.problems.append(f"{what}, as `name: value` ({path}:{node.start_mark.line + 1})")
        return
    for name, value in node.value:
        key = f"{section}.{name.value}" if section else str(name.value)
        if not section and key in sections:
            if not (isinstance(value, yaml.ScalarNode) and value.value == ""):
                yield from _pairs(reading, value, key, path, sections)
        else:
            yield key, value, f"{path}:{name.start_mark.line + 1}"


def _nearest(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, 1, 0.6)
    if not close:  # the name alone may be right, in another section
        close = [each for each in known if each.rpartition(".")[2] == key.rpartition(".")[2]][:1]
    return f"did you mean {close[0]}?" if close else "`memsidecar config` prints all settings"


def _read_secret_files(reading: _Reading) -> None:
    """`token_file` gives `token`, and so on. An unreadable or empty file is an error: it must not mean "no token"."""
    for key, setting in settings().items():
        pointer = reading.values.get(key + FILE_SUFFIX) if setting.secret else None
        if not pointer:
            continue
        source = reading.sources[key + FILE_SUFFIX]
        if reading.values.get(key):
            reading.problems.append(
                f"{key} ({reading.sources[key]}) and {key + FILE_SUFFIX} ({source}) are both set; keep one"
            )
            continue
        try:
            text = Path(pointer).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            reading.problems.append(f"{key + FILE_SUFFIX} names {pointer} ({source}), which cannot be read: {reason}")
            continue
        if not text:
            reading.problems.append(f"{key + FILE_SUFFIX} names {pointer} ({source}), which is empty")
            continue
        reading.take(setting, text, f"file {pointer}")
