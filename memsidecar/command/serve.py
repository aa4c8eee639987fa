"""`memsidecar serve`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

from memsidecar.command import exit_codes
from memsidecar.command.allocator import share_one_heap
from memsidecar.command.bootstrap_seam import bootstrap
from memsidecar.command.logs import configure
from memsidecar.command.machine_fit import misfits
from memsidecar.command.settings import Loaded

_log = logging.getLogger(__name__)


def serve(loaded: Loaded) -> int:
    """Runs until SIGTERM or SIGINT.

    Raises ConfigError for a machine that does not fit, and what `Bootstrap.run` does.
    """
    configure(loaded.config.log)
    loaded.refuse(misfits(loaded.config))
    # Until Bootstrap.run has a handler of its own: the first process of a container ignores a signal without one.
    signal.signal(signal.SIGTERM, _stop_before_the_start)
    for warning in loaded.warnings:
        _log.warning("%s", warning)
    share_one_heap()
    asyncio.run(bootstrap().run(loaded.config))
    return exit_codes.OK


def _stop_before_the_start(*_: object) -> None:
    """Libraries are still being imported: nothing is open, and whatever an import does with an exception is its own."""
    _log.info("stopped")
    os._exit(exit_codes.OK)
