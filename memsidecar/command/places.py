"""Directories as they are named on the command line."""

from __future__ import annotations

from pathlib import Path


def absolute(text: str) -> Path:
    """With `~` as a shell has it: a user that there is none of is part of a name."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:
        return Path(text).absolute()
