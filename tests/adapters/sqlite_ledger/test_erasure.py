"""After a purge is acknowledged, the text and the vectors are in none of the files."""

from __future__ import annotations

import random
import re
from pathlib import Path

from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.domain.events import Event, MemoryPurged
from tests.contracts.ledger_samples import ANN, batch, recorded, vectors


def on_disk(directory: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(directory.iterdir()))


def secret(number: int) -> str:
    # Of very different lengths: in the page, and on overflow pages.
    return f"<secret-{number}>" * (1 + 37 * (number % 9) ** 2)


async def test_a_purge_takes_the_bytes_out_of_the_file_and_its_log(ledger: SqliteLedger, tmp_path: Path) -> None:
    gone, stays = vectors(1, dimensions=384), vectors(2, dimensions=384)
    await ledger.append(batch(0, recorded("a", "the canary sings", gone), recorded("b", "the owl sleeps", stays)))
    assert b"the canary sings" in on_disk(tmp_path)
    assert gone.rows.tobytes() in on_disk(tmp_path)

    await ledger.append(batch(2, MemoryPurged("a")))

    content = on_disk(tmp_path)
    assert b"the canary sings" not in content
    assert gone.rows.tobytes()[:64] not in content
    assert b"the owl sleeps" in content
    assert stays.rows.tobytes() in content


async def test_vectors_that_were_replaced_go_with_the_purge(ledger: SqliteLedger, tmp_path: Path) -> None:
    old, new = vectors(1, count=9, dimensions=384), vectors(2, dimensions=384)
    await ledger.append(batch(0, recorded("a", brought=old)))
    await ledger.append(batch(1, recorded("a", brought=new)))
    await ledger.append(batch(2, MemoryPurged("a")))

    content = on_disk(tmp_path)
    assert all(row.tobytes()[:64] not in content for row in [*old.rows, *new.rows])


async def test_nothing_is_left_after_purging_in_any_order(ledger: SqliteLedger, tmp_path: Path) -> None:
    # Erasing makes SQLite move rows between pages; no copy may stay behind in the gaps.
    order = random.Random(7)
    count = 200
    brought = [vectors(number, count=1 + number % 4, dimensions=96) for number in range(count)]
    await ledger.append(batch(0, *(recorded(f"m{n}", secret(n), brought[n]) for n in range(count))))
    changed = [recorded(f"m{n}", secret(n) * 2, brought[n]) for n in order.sample(range(count), count // 2)]
    await ledger.append(batch(count, *changed))
    revision = count + len(changed)

    kept = set(range(count))
    for doomed in order.sample(range(count), count)[::-1]:
        kept.remove(doomed)
        if len(kept) % 40:
            continue
        purged: list[Event] = [MemoryPurged(f"m{n}") for n in range(count) if n not in kept]
        await ledger.append(batch(revision, *purged))
        revision += len(purged)
        assert {int(number) for number in re.findall(rb"<secret-(\d+)>", on_disk(tmp_path))} == kept

    content = on_disk(tmp_path)
    assert not any(one.rows.tobytes()[:64] in content for one in brought)
    assert list(await ledger.verify(ANN)) == []
