"""`memsidecar doctor`: what is wrong on this machine, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from memsidecar.command import exit_codes
from memsidecar.command.checks import endpoints, libraries, machine, model_servers, storage, traces
from memsidecar.command.checks.outcome import Check, Outcome, fail
from memsidecar.config import Config

CHECKS: tuple[tuple[str, Check], ...] = (
    ("python", machine.python_version),
    ("clock", machine.clock),
    ("open files", machine.open_files),
    ("address space", machine.address_space),
    ("data directory", storage.owner),
    ("filesystem", storage.filesystem),
    ("free space", storage.free_space),
    ("commits", storage.commits),
    ("set aside", storage.set_aside),
    ("socket", endpoints.unix_socket),
    ("ports", endpoints.ports),
    ("graph engine", libraries.graph_engine),
    ("vector index", libraries.vector_index),
    ("processor", libraries.processor),
    ("embedder", libraries.embedder),
    ("model server", model_servers.embedding),
    ("extraction", model_servers.extraction),
    ("tokenizer", libraries.tokenizer),
    ("session server", libraries.session_server),
    ("redis", endpoints.redis),
    ("traces", traces.collector),
)

# Most checks wait for another process or for a disk.
THREADS = 4

Row = tuple[str, Outcome]


def doctor(config: Config, as_json: bool) -> int:
    """Prints every check; PROBLEM when one failed. Changes nothing: what it writes to test is removed again."""
    with ThreadPoolExecutor(THREADS, thread_name_prefix="doctor") as threads:
        outcomes = threads.map(lambda entry: outcome_of(entry[1], config), CHECKS)
        return report([(name, outcome) for (name, _), outcome in zip(CHECKS, outcomes, strict=True)], as_json)


def outcome_of(check: Check, config: Config) -> Outcome:
    """What the check gives; a failure when it may not even look, as in a directory of another user."""
    try:
        return check(config)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        return fail(f"cannot be checked:{where} {error.strerror}", f"run it as the user who owns {config.data_dir}")


def report(rows: Sequence[Row], as_json: bool) -> int:
    """Prints the rows; the exit code that they amount to."""
    failed = sum(outcome.status == "fail" for _, outcome in rows)
    if as_json:
        checks = [{"name": name, "status": o.status, "found": o.found, "fix": o.fix} for name, o in rows]
        print(json.dumps({"checks": checks, "failed": failed}, indent=2))
    else:
        for name, outcome in rows:
            print(f"{outcome.status:<4}  {name:<14}  {outcome.found}")
            if outcome.fix:
                print(f"{'':<22}fix: {outcome.fix}")
        warned = sum(outcome.status == "warn" for _, outcome in rows)
        print(f"{len(rows)} checks: {failed} failed, {warned} with a warning")
    return exit_codes.PROBLEM if failed else exit_codes.OK
