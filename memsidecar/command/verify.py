"""`memsidecar verify [--repair]`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence

from memsidecar.command import exit_codes
from memsidecar.command.bootstrap_seam import bootstrap
from memsidecar.command.logs import configure
from memsidecar.command.settings import Loaded
from memsidecar.domain.errors import StoreUnusable
from memsidecar.domain.finding import Finding


def verify(loaded: Loaded, repair: bool, as_json: bool) -> int:
    """Prints every finding; PROBLEM when one is left that was not repaired."""
    configure(loaded.config.log)
    if not loaded.config.data_dir.is_dir():
        # Opening would make an empty one, in which everything agrees.
        print(
            f"memsidecar: {loaded.config.data_dir} does not exist; name the directory with --data-dir", file=sys.stderr
        )
        return exit_codes.USAGE
    try:
        findings = asyncio.run(bootstrap().verify(loaded.config, repair))
    except StoreUnusable as error:
        if error.metadata["store"] != "ledger":
            raise
        said = str(error).removesuffix("; run `memsidecar verify`")
        print(f"memsidecar: {said}" + ("" if said == str(error) else f". {_advice(loaded)}"), file=sys.stderr)
        return exit_codes.PROBLEM
    print(_json(findings) if as_json else _text(findings))
    if any(finding.store == "ledger" for finding in findings) and not as_json:
        print(f"A partition whose ledger is damaged answers DATA_LOSS, the others go on. {_advice(loaded)}")
    return exit_codes.OK if all(finding.repaired for finding in findings) else exit_codes.PROBLEM


def _advice(loaded: Loaded) -> str:
    kept = loaded.config.data_dir
    return (
        "The ledger is the one copy and cannot be rebuilt: stop the sidecar, keep "
        f"{kept} under another name, and `memsidecar restore` its newest backup"
    )


def _json(findings: Sequence[Finding]) -> str:
    rows = [
        {
            "store": finding.store,
            "partition": finding.partition.name if finding.partition else "",
            "subject": finding.subject,
            "problem": finding.problem,
            "repaired": finding.repaired,
        }
        for finding in findings
    ]
    return json.dumps({"findings": rows, "left": sum(not finding.repaired for finding in findings)}, indent=2)


def _text(findings: Sequence[Finding]) -> str:
    lines = [
        f"{'repaired' if finding.repaired else 'damaged '}  {finding.store:<8}  "
        f"{finding.partition.name if finding.partition else '-'}  {finding.subject}: {finding.problem}"
        for finding in findings
    ]
    left = sum(not finding.repaired for finding in findings)
    if not findings:
        lines.append("ledger, graph, vectors and keywords agree")
    elif not left:
        lines.append(f"{len(findings)} problems found, all repaired")
    else:
        projections = any(not finding.repaired and finding.store != "ledger" for finding in findings)
        advice = "; `memsidecar verify --repair` rebuilds what is not the ledger" if projections else ""
        lines.append(f"{len(findings)} problems found, {left} not repaired{advice}")
    return "\n".join(lines)
