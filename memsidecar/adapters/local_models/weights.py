"""Makes sure that the weights are the ones the vectors in the store were made with."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path

from memsidecar.domain.errors import ModelUnavailable


def check_package(provider: str, distribution: str, version: str) -> None:
    """Raises ModelUnavailable unless exactly this version is installed: the version is part of the model's name."""
    fix = f"install {distribution}=={version}, or choose another embedding.provider"
    try:
        installed = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError as cause:
        raise ModelUnavailable(provider, f"is not installed; {fix}") from cause
    if installed != version:
        raise ModelUnavailable(provider, f"is version {installed} of {distribution}, not {version}; {fix}")


def check_weights(provider: str, folder: Path, sha256: Mapping[str, str]) -> None:
    """Reads every file once. Raises ModelUnavailable when one is missing or is not the one with that hash."""
    for name, expected in sha256.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as cause:
            raise ModelUnavailable(provider, f"cannot read its weights {name}; reinstall the package") from cause
        if found != expected:
            raise ModelUnavailable(
                provider, f"has weights {name} with sha256 {found[:12]}…, not {expected[:12]}…; reinstall the package"
            )
