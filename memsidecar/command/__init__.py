"""The command line. `main` is all there is to import; everything heavy is imported by the command that needs it."""

from memsidecar.command.main import main

__all__ = ["main"]
