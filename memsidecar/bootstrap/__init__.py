"""Builds stores, then services, then the server: the only package that knows them all.

Each is loaded when it is asked for: a backup or a verification begins in half the time without the server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memsidecar.bootstrap.backing_up import back_up
    from memsidecar.bootstrap.process import run
    from memsidecar.bootstrap.restoring import restore
    from memsidecar.bootstrap.verifying import verify

__all__ = ["back_up", "restore", "run", "verify"]

_MODULES = {"back_up": "backing_up", "restore": "restoring", "run": "process", "verify": "verifying"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
