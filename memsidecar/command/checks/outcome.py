"""What a check gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from memsidecar.config import Config


@dataclass(frozen=True, slots=True)
class Outcome:
    """`found` says what is so, `fix` what to do about it, a command where there is one; empty when all is well."""

    status: Literal["ok", "warn", "fail"]
    found: str
    fix: str = ""


Check = Callable[[Config], Outcome]


def ok(found: str) -> Outcome:
    return Outcome("ok", found)


def warn(found: str, fix: str) -> Outcome:
    """It works, with a limit worth knowing."""
    return Outcome("warn", found, fix)


def fail(found: str, fix: str) -> Outcome:
    """`memsidecar serve` would not start, or would lose or refuse something."""
    return Outcome("fail", found, fix)
