"""`memsidecar restore SOURCE`."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from memsidecar.command import exit_codes
from memsidecar.command.bootstrap_seam import Restored, bootstrap
from memsidecar.command.logs import configure
from memsidecar.command.places import absolute
from memsidecar.command.progress import ProgressLine
from memsidecar.command.settings import Loaded
from memsidecar.domain.point_in_time import AtRevision, AtTime, PointInTime
from memsidecar.domain.revision import parse_revision
from memsidecar.domain.scope import parse_partition

# More than any revision has; Python refuses to read a few thousand.
_DIGITS: Final = 30
_SESSIONS: Final = {
    "included": "sessions are restored",
    "none": "there are no sessions in it",
    "external": "there are no sessions in it: they are in the server of redis.url",
    "left out": "sessions are left out: a backup has their newest state only",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line's words, as they were given."""

    source: str | None
    at: str | None
    to_revision: str | None
    partition: str | None


def restore(loaded: Loaded, asked: Asked, set_aside: bool, as_json: bool) -> int:
    """Prints what has come of the backup. Raises what `Bootstrap.restore` does."""
    configure(loaded.config.log)
    if not asked.source:
        print("memsidecar: name the backup: memsidecar restore SOURCE", file=sys.stderr)
        return exit_codes.USAGE
    try:
        until = _point_in_time(asked)
    except ValueError as error:
        print(f"memsidecar: {error}", file=sys.stderr)
        return exit_codes.USAGE
    began, line = time.monotonic(), ProgressLine()
    source = absolute(asked.source)
    try:
        restored = bootstrap().restore(loaded.config, source, until, set_aside, line)
    finally:
        line.clear()
    if as_json:
        print(json.dumps(_plain(restored), indent=2))
    else:
        for said in _text(restored, loaded.config.data_dir, until is not None, time.monotonic() - began):
            print(said)
    return exit_codes.OK


def _point_in_time(asked: Asked) -> PointInTime | None:
    """Raises ValueError with what is wrong and what is accepted."""
    if asked.at is not None:
        if asked.to_revision is not None or asked.partition is not None:
            raise ValueError("--at goes for all partitions; leave out --to-revision and --partition")
        try:
            moment = datetime.fromisoformat(asked.at)
        except ValueError:
            raise ValueError(f"--at is {asked.at}: must be a time such as 2026-11-30T10:00:00Z") from None
        if moment.tzinfo is None:
            raise ValueError(f"--at is {asked.at}: must say its time zone; Z is UTC")
        return AtTime(round(moment.timestamp() * 1_000_000))
    if asked.to_revision is None and asked.partition is None:
        return None
    if asked.to_revision is None or asked.partition is None:
        raise ValueError("--to-revision and --partition belong together: a revision is one of a partition")
    partition = parse_partition(asked.partition)
    if partition is None:
        raise ValueError(f"--partition is {asked.partition}: must be namespaces/NAMESPACE or namespaces/N/users/USER")
    numeric = asked.to_revision.isascii() and asked.to_revision.isdigit() and len(asked.to_revision) <= _DIGITS
    if numeric:
        return AtRevision(partition, int(asked.to_revision))
    parsed = parse_revision(asked.to_revision, partition)
    if parsed is None:
        raise ValueError(f"--to-revision is {asked.to_revision}: must be a number, or a token of {partition.name}")
    return AtRevision(partition, *parsed)


def _plain(restored: Restored) -> dict[str, object]:
    return {
        "created": restored.manifest.created,
        "entries": restored.entries,
        "partitions": restored.partitions,
        "sessions": restored.sessions,
        "aside": str(restored.aside or ""),
        "cuts": [
            {
                "partition": cut.partition.name,
                "revision": cut.revision,
                "removed": cut.removed,
                "purged": len(cut.purged),
                "without_vectors": len(cut.without_vectors),
            }
            for cut in restored.cuts
        ],
    }


def _text(restored: Restored, data: Path, at_a_point: bool, seconds: float) -> list[str]:
    manifest, cuts = restored.manifest, restored.cuts
    said = [
        f"{restored.entries} entries of {restored.partitions} partitions are in {data}, checked, in {seconds:.1f} s; "
        f"the backup is of {manifest.created}",
        _SESSIONS["included" if restored.sessions else manifest.sessions if not at_a_point else "left out"],
    ]
    if cuts:
        said.append(f"{sum(cut.removed for cut in cuts)} later entries of {len(cuts)} partitions were left out")
    if purged := sum(len(cut.purged) for cut in cuts):
        said.append(f"{purged} memories that were purged later stay purged")
    if due := sum(len(cut.without_vectors) for cut in cuts):
        said.append(f"the vectors of {due} memories that were changed later are made again after the start")
    if restored.aside is not None:
        said.append(f"what was there before is in {restored.aside}")
    said.append("what was deleted or purged after the backup has come back with it: delete it again where it must go")
    return said
