"""`memsidecar serve`."""

from __future__ import annotations

import asyncio
import logging

from memsidecar.command import exit_codes
from memsidecar.command.allocator import share_one_heap
from memsidecar.command.bootstrap_seam import bootstrap
from memsidecar.command.logs import configure
from memsidecar.command.settings import Loaded

_log = logging.getLogger(__name__)


def serve(loaded: Loaded) -> int:
    """Runs until SIGTERM or SIGINT. Raises what `Bootstrap.run` does."""
    configure(loaded.config.log)
    for warning in loaded.warnings:
        _log.warning("%s", warning)
    share_one_heap()
    asyncio.run(bootstrap().run(loaded.config))
    return exit_codes.OK
