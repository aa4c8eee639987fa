"""A copy of the sessions of a private server, whether it runs or not.

Its append-only files are all there is, and only grow: what is there when a file is opened, up to the size that it has
then, is a state that the server was in (a last command that is cut off is passed over when it is read). A rewrite
replaces the files; whoever has them open keeps them.
"""

from __future__ import annotations

import os
import re
import socket
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import BinaryIO, Final

from memsidecar.adapters.valkey_server.binary import SOCKET_NAME
from memsidecar.domain.errors import StoreUnavailable

# Since version 7 a folder with a list of its files; before it, one file.
_FOLDER: Final = "appendonlydir"
_LIST: Final = "appendonly.aof.manifest"
_SINGLE: Final = "appendonly.aof"
# Base and increments; what a rewrite has replaced is of type h.
_LISTED: Final = re.compile(r"^file (\S+) seq \d+ type ([bih]).*$", re.MULTILINE)
_ATTEMPTS: Final = 50
_PAUSE_S: Final = 0.02
# While the disk is slow, the server keeps what it has acknowledged back for up to 2 s.
_WRITTEN_S: Final = 3.0
_ANSWER_S: Final = 5.0
_BLOCK: Final = 1 << 20


def copy_sessions(directory: Path, target: Path) -> list[Path]:
    """Copies the server's data into the folder `target`, with every write that was acknowledged before this call.

    The paths of the copies; none when there is no data. Raises OSError when a file cannot be read or written,
    StoreUnavailable when the server does not leave its files alone for long enough.
    """
    if not directory.is_dir():
        return []
    _wait_until_written(directory)
    with ExitStack() as stack:
        listed, sources = _opened(directory, stack)
        copies = [target / name for name, _ in sources]
        for (_, source), copy in zip(sources, copies, strict=True):
            copy.parent.mkdir(parents=True, exist_ok=True)
            left = os.fstat(source.fileno()).st_size
            with copy.open("wb") as out:
                while block := source.read(min(left, _BLOCK)):
                    left -= len(block)
                    out.write(block)
        if listed:
            copies.append(target / _FOLDER / _LIST)
            copies[-1].write_text(listed, encoding="utf-8")
    return copies


def _opened(directory: Path, stack: ExitStack) -> tuple[str, list[tuple[str, BinaryIO]]]:
    """The list of the files, and the files, open and of one moment."""
    for _ in range(_ATTEMPTS):
        with ExitStack() as attempt:
            listed = _list(directory)
            names = [f"{_FOLDER}/{name}" for name, _ in _LISTED.findall(listed)] or [_SINGLE]
            try:
                sources: list[tuple[str, BinaryIO]] = [
                    (name, attempt.enter_context((directory / name).open("rb"))) for name in names
                ]
            except FileNotFoundError:
                if not listed and not _list(directory):
                    return "", []
            else:
                if _list(directory) == listed:
                    stack.push(attempt.pop_all())
                    return listed, sources
        time.sleep(_PAUSE_S)
    raise StoreUnavailable("sessions", "is being rewritten again and again; try again")


def _list(directory: Path) -> str:
    """The lines that say which files make up the data; "" when there is no list."""
    try:
        text = (directory / _FOLDER / _LIST).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    return "".join(f"{found[0]}\n" for found in re.finditer(_LISTED, text) if found[2] != "h")


def _wait_until_written(directory: Path) -> None:
    """Until the server, if one runs, has written what it has acknowledged to its file."""
    until = time.monotonic() + _WRITTEN_S
    with suppress(OSError, ValueError), closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(_ANSWER_S)
        # Through a descriptor, because a socket's path must be short.
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            connection.connect(f"/proc/self/fd/{folder}/{SOCKET_NAME}")
        finally:
            os.close(folder)
        answers = connection.makefile("rb")
        while time.monotonic() < until:
            connection.sendall(b"INFO persistence\r\n")
            length = int(answers.readline()[1:])
            if b"aof_buffer_length:0\r" in answers.read(length + 2):
                return
            time.sleep(_PAUSE_S)
