"""Python, memory map, file limit and clock."""

from __future__ import annotations

import mmap
import platform
import resource
import sys
from datetime import UTC, datetime

from memsidecar.command.checks.outcome import Outcome, fail, ok, warn
from memsidecar.config import Config

# The engines map this much address space when they open a database, whatever its size. It takes no memory.
GRAPH_MAP_BYTES = 8 << 40
MAP_NORESERVE = 0x4000  # Linux; the mmap module has no name for it before Python 3.13

# Connections of agents and of the session store, the ledger's, graph's and log's files, and some room.
MIN_OPEN_FILES = 1_024

# This release's year: an earlier clock is one that was never set.
EARLIEST_CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
LATEST_CLOCK = datetime(2100, 1, 1, tzinfo=UTC)


def python_version(config: Config) -> Outcome:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform != "linux":
        return warn(found, "Linux is what is tested; elsewhere set redis.url, there is no private session server")
    return ok(found)


def address_space(config: Config) -> Outcome:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (MAP_NORESERVE if sys.platform == "linux" else 0)
    try:
        mmap.mmap(-1, GRAPH_MAP_BYTES, flags=flags, prot=mmap.PROT_READ).close()
    except (OSError, ValueError) as error:
        return fail(
            f"the graph engine needs to map 8 TiB of address space, which fails: {error}",
            "ulimit -v unlimited; in a sandbox (gVisor) or with vm.overcommit_memory=2, allow large mappings",
        )
    return ok("8 TiB can be mapped")


def open_files(config: Config) -> Outcome:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < MIN_OPEN_FILES:
        return warn(
            f"at most {soft} open files", f"ulimit -n {MIN_OPEN_FILES}, or LimitNOFILE={MIN_OPEN_FILES} in a unit"
        )
    return ok(f"{soft if soft != resource.RLIM_INFINITY else 'unlimited'} open files")


def clock(config: Config) -> Outcome:
    return judge_clock(datetime.now(UTC))


def judge_clock(now: datetime) -> Outcome:
    """Order never depends on the clock; the times that memories carry, and how fresh they look, do."""
    if not EARLIEST_CLOCK <= now <= LATEST_CLOCK:
        return fail(f"the clock says {now:%Y-%m-%d %H:%M} UTC", "set it: timedatectl set-ntp true")
    return ok(f"{now:%Y-%m-%d %H:%M} UTC")
