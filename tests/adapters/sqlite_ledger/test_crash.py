"""Killed at any moment, the ledger opens with everything that was acknowledged."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.domain.scope import Partition
from tests.contracts.ledger_samples import ANN, batch, fill, meanings, recorded

ROOT = Path(__file__).parents[3]


def acknowledged_before_a_kill(directory: Path, acks: int) -> dict[str, int]:
    """The last revision that a child acknowledged for each user; it is killed after so many acknowledgements."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.sqlite_ledger.appending", str(directory)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(acks)]
    child.send_signal(signal.SIGKILL)
    # What it still had said before it died counts as well; a line that was cut off does not.
    lines += [line for line in child.stdout.readlines() if line.endswith("\n")]
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    last: dict[str, int] = {}
    for line in lines:
        user, revision = line.split()
        last[user] = max(last.get(user, 0), int(revision))
    return last


@pytest.mark.parametrize("acks", [1, 40, 200])
async def test_after_a_kill_every_acknowledged_entry_is_there(tmp_path: Path, acks: int) -> None:
    acknowledged = acknowledged_before_a_kill(tmp_path, acks)
    assert sum(acknowledged.values()) >= acks

    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    try:
        for user, revision in acknowledged.items():
            partition = Partition("acme", user)
            entries = await ledger.read(partition, 0, 100_000)
            assert [entry.subject for entry in entries] == [f"m{number}" for number in range(len(entries))]
            assert len(entries) >= revision
            assert list(await ledger.verify(partition)) == []
            assert await ledger.find_request(partition, f"r{revision - 1}") is not None
            await ledger.append(batch(len(entries), recorded("next", partition=partition), partition=partition))
    finally:
        await ledger.close()


async def test_a_torn_log_opens_at_its_last_complete_commit(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    ledger = await SqliteLedger.open(source, ProtobufEventCodec())
    for number in range(30):
        await fill(ledger, 1, start=number)
    whole = meanings(await ledger.read(ANN, 0, 100))
    size = (source / "ledger.db-wal").stat().st_size
    cuts = random.Random(3).sample(range(size), 12)
    for cut in cuts:
        copy = tmp_path / f"cut-{cut}"
        copy.mkdir()
        shutil.copy(source / "ledger.db", copy)
        (copy / "ledger.db-wal").write_bytes((source / "ledger.db-wal").read_bytes()[:cut])
    await ledger.close()

    lengths = []
    for cut in sorted(cuts):
        torn = await SqliteLedger.open(tmp_path / f"cut-{cut}", ProtobufEventCodec())
        try:
            entries = await torn.read(ANN, 0, 100)
            assert meanings(entries) == whole[: len(entries)]
            assert list(await torn.verify(ANN)) == []
            await fill(torn, 1, start=len(entries))
            lengths.append(len(entries))
        finally:
            await torn.close()
    assert lengths == sorted(lengths)
    assert 0 < lengths[-1] < 30
