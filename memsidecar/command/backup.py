"""`memsidecar backup TARGET`."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Final

from memsidecar.command import exit_codes
from memsidecar.command.bootstrap_seam import bootstrap
from memsidecar.command.logs import configure
from memsidecar.command.places import absolute
from memsidecar.command.progress import ProgressLine
from memsidecar.command.settings import Loaded

_NICE: Final = 10
_SESSIONS: Final = {
    "included": "sessions are included",
    "none": "there are no sessions yet",
    "external": "sessions are not included: they are in the server of redis.url, which needs a backup of its own",
}


def backup(loaded: Loaded, target: str | None, as_json: bool) -> int:
    """Prints what the backup holds. Raises what `Bootstrap.back_up` does."""
    configure(loaded.config.log)
    data = loaded.config.data_dir
    if not target:
        print("memsidecar: name the directory to make: memsidecar backup TARGET", file=sys.stderr)
        return exit_codes.USAGE
    if not data.is_dir():
        print(f"memsidecar: {data} does not exist; name the directory with --data-dir", file=sys.stderr)
        return exit_codes.USAGE
    # Whoever serves goes first: reading every entry again takes a core for as long as it lasts.
    os.nice(_NICE)
    began, line = time.monotonic(), ProgressLine()
    place = absolute(target)
    try:
        manifest = bootstrap().back_up(loaded.config, place, line)
    finally:
        line.clear()
    if as_json:
        print(json.dumps({"path": str(place), "size": manifest.size, **manifest.as_json()}, indent=2))
    else:
        print(
            f"{manifest.entries} entries of {len(manifest.partitions)} partitions are in {place}, checked: "
            f"{manifest.size / 1e6:.1f} MB in {time.monotonic() - began:.1f} s"
        )
        print(_SESSIONS[manifest.sessions])
    return exit_codes.OK
