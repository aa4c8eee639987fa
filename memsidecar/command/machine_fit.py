"""What `serve` cannot do on this machine with its configuration, looked for before anything is loaded. Other commands
do not look: the configuration of a pod is right although this machine has not its directories and groups."""

from __future__ import annotations

import grp
import os
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

from memsidecar.config import Config


def misfits(config: Config) -> Iterator[tuple[str, str]]:
    """(key, problem). What may be otherwise a moment later, such as a port in use, is left to the start itself."""
    path = config.socket_path
    # The start makes the data directory, and no other.
    if path.parent != config.data_dir and not path.parent.is_dir():
        yield "listen.socket", f"the directory of {path} does not exist; make it, or choose another path"
    elif path.parent != config.data_dir and not os.access(path.parent, os.W_OK | os.X_OK):
        yield "listen.socket", f"the directory of {path} is not writable; choose another path"
    elif _is_something_else(path):
        yield "listen.socket", f"{path} exists and is not a socket; remove it, or choose another path"
    if (group := config.listen.socket_group) and not is_group(group):
        yield "listen.socket_group", f"there is no group {group}"
    if config.redis.ca_file and (problem := _not_an_authority(config.redis.ca_file)):
        yield "redis.ca_file", f"{config.redis.ca_file} {problem}"


def is_group(group: str) -> bool:
    if group.isdecimal():  # a number needs no name: in a pod it is the fsGroup
        return True
    try:
        grp.getgrnam(group)
    except KeyError:
        return False
    return True


def _is_something_else(path: Path) -> bool:
    try:
        return not stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return False


def _not_an_authority(file: str) -> str:
    try:
        ssl.create_default_context(cafile=file)
    except ssl.SSLError:
        return "holds no certificate in PEM form"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""
