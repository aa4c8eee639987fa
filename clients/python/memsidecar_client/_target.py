"""Where the sidecar is when nobody says."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "MEMSIDECAR_TARGET"

POD_SOCKET = Path("/run/memsidecar/memsidecar.sock")
"""Where a deployment mounts the sidecar's socket into the agent's container."""

USER_SOCKET = Path("~/.local/share/memsidecar/memsidecar.sock")
"""Where a plain `memsidecar serve` listens."""


def default_target() -> str:
    """The gRPC target of the sidecar on this machine: that of the variable MEMSIDECAR_TARGET, else of the socket that
    is there, in a pod or of a plain `memsidecar serve`, else of the one that will be when the sidecar has started."""
    if named := os.environ.get(VARIABLE, ""):
        return named
    user_socket = Path(os.path.expanduser(USER_SOCKET))  # noqa: PTH111  Path.expanduser raises without a home directory
    in_pod = POD_SOCKET.exists() or (POD_SOCKET.parent.exists() and not user_socket.exists())
    return f"unix://{POD_SOCKET if in_pod or not user_socket.is_absolute() else user_socket}"
