"""A row that is not what was written is named, and never served."""

from __future__ import annotations

from pathlib import Path

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.domain.errors import LedgerDamaged, StoreUnavailable
from memsidecar.domain.events import MemoryPurged
from tests.adapters.sqlite_ledger.conftest import Tamper
from tests.contracts.ledger_samples import ANN, BEN, MODEL, batch, fill, recorded, vectors

ALTERATIONS = {
    "payload": "UPDATE event SET payload = x'0a00' WHERE partition = 1 AND revision = 3",
    "payload and hash": """
        UPDATE event SET (payload, payload_sha256) = (
            SELECT payload, payload_sha256 FROM event WHERE partition = 1 AND revision = 2
        )
        WHERE partition = 1 AND revision = 3
    """,
    "hash": "UPDATE event SET payload_sha256 = zeroblob(32) WHERE partition = 1 AND revision = 3",
    "subject": "UPDATE event SET subject = 'm9' WHERE partition = 1 AND revision = 3",
    "subject without a meaning": "UPDATE event SET subject = CAST(x'ff' AS TEXT) WHERE partition = 1 AND revision = 3",
    "time": "UPDATE event SET recorded_at = recorded_at + 1 WHERE partition = 1 AND revision = 3",
    "codec": "UPDATE event SET codec = 2 WHERE partition = 1 AND revision = 3",
    "request": "UPDATE event SET request_id = 'r' WHERE partition = 1 AND revision = 3",
    "link": "UPDATE event SET chain = zeroblob(32) WHERE partition = 1 AND revision = 3",
    "missing": "DELETE FROM event WHERE partition = 1 AND revision = 3",
}


@pytest.mark.parametrize("sql", ALTERATIONS.values(), ids=list(ALTERATIONS))
async def test_reading_serves_what_is_before_damage_and_then_names_it(
    ledger: SqliteLedger, tamper: Tamper, sql: str
) -> None:
    await fill(ledger, 5)
    tamper(sql)

    assert [entry.revision for entry in await ledger.read(ANN, 0, 10)] == [1, 2]
    with pytest.raises(LedgerDamaged) as damaged:
        await ledger.read(ANN, 2, 10)

    assert damaged.value.metadata == {"partition": ANN.name, "revision": "3"}


@pytest.mark.parametrize("sql", ALTERATIONS.values(), ids=list(ALTERATIONS))
async def test_the_tail_serves_what_is_before_damage_and_then_names_it(
    ledger: SqliteLedger, tamper: Tamper, sql: str
) -> None:
    await fill(ledger, 5)
    await fill(ledger, 1, BEN)
    tamper(sql)

    served = await ledger.tail(0, 10)

    assert [(entry.partition, entry.revision) for entry in served] == [(ANN, 1), (ANN, 2)]
    with pytest.raises(LedgerDamaged):
        await ledger.tail(2, 10)


@pytest.mark.parametrize("sql", ALTERATIONS.values(), ids=list(ALTERATIONS))
async def test_verify_names_the_altered_entry_and_no_other(ledger: SqliteLedger, tamper: Tamper, sql: str) -> None:
    await fill(ledger, 5)
    await fill(ledger, 5, BEN)
    tamper(sql)

    damages = await ledger.verify(ANN)

    assert {damage.revision for damage in damages if "vectors" not in damage.problem} == {3}
    assert {damage.partition for damage in damages} == {ANN}
    assert list(await ledger.verify(BEN)) == []


async def test_history_serves_what_is_newer_than_damage_and_then_names_it(ledger: SqliteLedger, tamper: Tamper) -> None:
    await ledger.append(batch(0, *(recorded("a", f"text {number}") for number in range(4))))
    tamper("UPDATE event SET payload = x'00' WHERE revision = 2")

    assert [entry.revision for entry in await ledger.history(ANN, "a", 100, 10)] == [4, 3]
    with pytest.raises(LedgerDamaged) as damaged:
        await ledger.history(ANN, "a", 3, 10)
    assert damaged.value.metadata["revision"] == "2"
    assert [entry.revision for entry in await ledger.history(ANN, "a", 2, 10)] == [1]


async def test_a_renamed_partition_owns_nothing(ledger: SqliteLedger, tamper: Tamper) -> None:
    await fill(ledger, 2, BEN)
    tamper("UPDATE partition SET user = 'ann'")

    with pytest.raises(LedgerDamaged):
        await ledger.read(ANN, 0, 10)
    with pytest.raises(LedgerDamaged):
        await ledger.tail(0, 10)
    assert await ledger.verify(ANN)


async def test_an_entry_without_its_partition_is_damage(ledger: SqliteLedger, tamper: Tamper) -> None:
    await fill(ledger, 1)
    tamper("DELETE FROM partition")

    with pytest.raises(LedgerDamaged):
        await ledger.tail(0, 10)


async def test_a_payload_that_vanished_without_a_purge_is_damage(ledger: SqliteLedger, tamper: Tamper) -> None:
    await ledger.append(batch(0, recorded("a"), recorded("b"), MemoryPurged("a"), recorded("a")))
    tamper("UPDATE event SET erased = 1 WHERE revision IN (2, 4)")

    assert [damage.revision for damage in await ledger.verify(ANN)] == [2, 4]


@pytest.mark.parametrize(
    ("sql", "revision"),
    [
        ("UPDATE vector SET numbers = zeroblob(length(numbers)) WHERE slot = 1", 3),
        ("UPDATE embedding SET model = 'model-b' WHERE memory = 'a'", 3),
        ("DELETE FROM embedding WHERE memory = 'a'", 3),
        ("DELETE FROM vector WHERE slot = 1", 3),
        ("UPDATE embedding SET memory = 'c' WHERE memory = 'b'", 2),
        ("UPDATE vector SET numbers = x'00' WHERE slot = 2", 2),
    ],
)
async def test_verify_names_the_event_whose_vectors_are_not_its_own(
    ledger: SqliteLedger, tamper: Tamper, sql: str, revision: int
) -> None:
    brought = [recorded("a", brought=vectors(1)), recorded("b", brought=vectors(2)), recorded("a", brought=vectors(3))]
    await ledger.append(batch(0, *brought, recorded("a")))
    tamper(sql)

    assert {damage.revision for damage in await ledger.verify(ANN)} == {revision}


async def test_vectors_of_the_wrong_size_are_not_served(ledger: SqliteLedger, tamper: Tamper) -> None:
    await fill(ledger, 3)
    tamper("UPDATE vector SET numbers = x'00000000' WHERE slot = 2")

    with pytest.raises(LedgerDamaged) as damaged:
        await ledger.vectors(ANN, MODEL)
    assert damaged.value.metadata["revision"] == "2"
    assert len(await ledger.vectors_of(ANN, ["m0", "m2"], MODEL)) == 2


async def test_a_damaged_page_is_damage_and_not_a_driver_error(tmp_path: Path) -> None:
    codec = ProtobufEventCodec()
    first = await SqliteLedger.open(tmp_path, codec)
    await ledger_of_many_pages(first)
    await first.close()
    file = tmp_path / "ledger.db"
    content = bytearray(file.read_bytes())
    at = content.index(b"text 150 ")
    start = at - at % 16384
    content[start : start + 64] = b"\xff" * 64
    file.write_bytes(content)

    second = await SqliteLedger.open(tmp_path, codec)
    try:
        intact = await second.read(ANN, 0, 300)
        assert 0 < len(intact) < 150
        with pytest.raises(LedgerDamaged):
            await second.read(ANN, len(intact), 300)
        assert await second.verify(ANN)
    finally:
        await second.close()


async def ledger_of_many_pages(ledger: SqliteLedger) -> None:
    await ledger.append(batch(0, *(recorded(f"m{number}", f"text {number} " * 40) for number in range(300))))


async def test_an_entry_of_a_codec_that_is_not_configured_is_refused_by_name(tmp_path: Path) -> None:
    class LaterCodec(ProtobufEventCodec):
        @property
        def codec_id(self) -> int:
            return 7

    later = await SqliteLedger.open(tmp_path, LaterCodec())
    await fill(later, 1)
    await later.close()
    now = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    try:
        with pytest.raises(StoreUnavailable, match="codec 7"):
            await now.read(ANN, 0, 10)
        with pytest.raises(StoreUnavailable, match="codec 7"):
            await now.verify(ANN)
    finally:
        await now.close()
