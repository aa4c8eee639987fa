"""A process for the crash tests: appends in four partitions at once and prints each acknowledged revision."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Request
from tests.contracts.ledger_samples import batch, recorded, vectors


async def main(directory: Path) -> None:
    ledger = await SqliteLedger.open(directory, ProtobufEventCodec())

    async def append_for_ever(user: str) -> None:
        partition = Partition("acme", user)
        number = 0
        while True:
            event = recorded(f"m{number}", "text " * 50, vectors(number), partition)
            request = Request(f"r{number}", b"digest", b"answer")
            await ledger.append(batch(number, event, partition=partition, requests=[request]))
            number += 1
            print(user, number, flush=True)

    await asyncio.gather(*(append_for_ever(f"user-{number}") for number in range(4)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
