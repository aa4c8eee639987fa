from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memsidecar.domain.draft import Patch, Request
from memsidecar.domain.errors import LedgerDamaged, ModelUnavailable
from memsidecar.domain.recall import Tier
from memsidecar.services import hydration as module
from memsidecar.services.resident import Resident
from tests.adapters.sqlite_ledger.conftest import Tamper, tamper
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import ANN, BEN, Stack, stored

__all__ = ["tamper"]
WHO = ANN.partition


async def fresh(stack: Stack) -> tuple[Resident, int]:
    return await stack.hydration(WHO)


async def save(stack: Stack) -> None:
    assert await stack.hydration.save((await stack.residency.get(WHO)).resident)


async def test_a_partition_without_entries_is_empty(stack: Stack) -> None:
    resident, unsaved = await fresh(stack)
    assert (resident.rows, resident.head.revision, unsaved) == (0, 0, 0)


async def test_a_short_page_is_not_the_end(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    await stack.remember(ANN, *(f"number {n}" for n in range(20)))
    real = stack.real_ledger.read

    async def short(partition: object, after: int, limit: int, chain: bytes | None = None) -> object:
        return await real(partition, after, 3, chain)  # type: ignore[arg-type]

    monkeypatch.setattr(stack.real_ledger, "read", short)
    resident, unsaved = await fresh(stack)
    assert (resident.head.revision, unsaved, resident.vectors.size) == (20, 20, 20)


async def test_pages_are_followed_to_the_end(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 7)
    await stack.remember(ANN, *(f"number {n}" for n in range(20)))
    assert (await fresh(stack))[0].head.revision == 20


async def test_a_snapshot_spares_what_it_covers(stack: Stack) -> None:
    await stack.remember(ANN, "one", "two")
    await save(stack)
    await stack.remember(ANN, "three")
    resident, unsaved = await fresh(stack)
    assert (resident.head.revision, unsaved, resident.vectors.size) == (3, 1, 3)


async def test_a_snapshot_from_beyond_the_ledger_is_ignored(stack: Stack, tmp_path: Path) -> None:
    await stack.remember(ANN, "one")
    await save(stack)
    other = await Stack.open(_beside(tmp_path, "restored"), stack.embedder)
    shutil.copytree(tmp_path / "resident", other.directory / "resident")
    assert (await other.hydration(WHO))[0].rows == 0
    await other.remember(ANN, "two", "three")
    # The same revisions, or more, of another history.
    for _ in range(2):
        resident, _ = await other.hydration(WHO)
        assert [resident.records.get(row).text for row in range(resident.rows)][:2] == ["two", "three"]
        await other.remember(ANN, "four")
    await other.close()


async def test_a_snapshot_at_the_same_revision_of_another_history_is_ignored(stack: Stack, tmp_path: Path) -> None:
    await stack.remember(ANN, "one")
    await save(stack)
    other = await Stack.open(_beside(tmp_path, "restored"), stack.embedder)
    shutil.copytree(tmp_path / "resident", other.directory / "resident")
    await other.remember(ANN, "another")
    await other.residency.close()
    resident, _ = await other.hydration(WHO)
    assert [resident.records.get(row).text for row in range(resident.rows)] == ["another"]
    await other.close()


async def test_no_snapshot_is_written_of_what_is_not_at_the_ledgers_head(stack: Stack) -> None:
    await stack.remember(ANN, "one")
    behind, _ = await fresh(stack)
    await stack.remember(ANN, "two")
    assert not await stack.hydration.save(behind)
    assert await stack.snapshots.load(WHO) is None


async def test_vectors_saved_later_than_the_records_are_not_taken_with_them(stack: Stack) -> None:
    """A kill between the two files of a snapshot."""
    await stack.remember(ANN, "one")
    await save(stack)
    await stack.remember(ANN, "two")
    live = (await stack.residency.get(WHO)).resident
    await live.vectors.save(stack.snapshots.vectors_folder(WHO), 2)
    resident, unsaved = await fresh(stack)
    assert (resident.head.revision, resident.vectors.size, unsaved) == (2, 2, 2)


async def test_another_model_starts_without_vectors_and_with_all_due(stack: Stack) -> None:
    await stack.remember(ANN, "tea", "coffee")
    await save(stack)
    other = await stack.again(HashEmbedder(model="other"))
    resident, _ = await other.hydration(WHO)
    assert resident.vectors.size == 0
    assert len(resident.due) == 2
    assert await other.backlog._embed_some(WHO)
    assert not await other.backlog._embed_some(WHO)
    resident, _ = await other.hydration(WHO)
    assert (resident.vectors.size, dict(resident.due)) == (2, {})
    await other.close()


async def test_another_size_under_the_models_name_leaves_the_old_vectors_alone(stack: Stack) -> None:
    """As with embedding.dimensions changed for clients' vectors, or another server behind the same model's name."""
    await stack.remember(ANN, "tea", "coffee")
    await save(stack)
    assert stack.embedder is not None
    smaller = HashEmbedder(dimensions=16)
    smaller.model = stack.embedder.model
    other = await stack.again(smaller)
    resident, _ = await other.hydration(WHO)
    assert (resident.vectors.size, len(resident.due)) == (0, 2)
    assert await other.backlog._embed_some(WHO)
    resident, _ = await other.hydration(WHO)
    assert (resident.vectors.size, dict(resident.due)) == (2, {})
    await other.close()


async def test_the_old_texts_vectors_never_come_back(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks green tea every morning"))
    await save(stack)
    assert stack.embedder is not None
    stack.embedder.failure = ModelUnavailable("hash")
    await stack.memories.update(WHO, memory.id, Patch({"statement": "plays the violin"}), Request())
    for _ in range(2):
        resident, _ = await fresh(stack)
        assert not resident.has_vectors(memory.id)
        assert list(resident.due) == [memory.id]
        await save(stack)
        await stack.memories.update(WHO, memory.id, Patch({"labels": {"a": "b"}}), Request())
    stack.embedder.failure = None
    assert await stack.backlog._embed_some(WHO)
    resident, _ = await fresh(stack)
    question = (await stack.embedder.embed(["plays the violin"]))[0]
    assert resident.vectors.search(question, 1)[1][0] == pytest.approx(1.0, abs=1e-5)
    assert not await stack.real_ledger.verify(WHO)


async def test_a_purge_cut_short_by_a_kill_drops_the_snapshot_at_the_next_load(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "xylophone secret"))
    await save(stack)
    kept = stack.directory / "kept"
    shutil.copytree(stack.directory / "resident", kept)
    await stack.memories.delete(WHO, memory.id, "", True, "", Request())
    assert not _words(stack.directory / "resident")
    shutil.copytree(kept, stack.directory / "resident", dirs_exist_ok=True)
    shutil.rmtree(kept)
    resident, unsaved = await fresh(stack)
    assert (dict(resident.lookup.rows), unsaved) == ({}, 2)
    assert not _words(stack.directory / "resident")


async def test_damage_is_never_served_and_other_partitions_are(stack: Stack, tamper: Tamper) -> None:
    await stack.remember(ANN, "one", "two", "three")
    await stack.remember(BEN, "fine")
    tamper("UPDATE event SET payload = zeroblob(length(payload)) WHERE revision = 2 AND subject = 'm000002'")
    again = await stack.again()
    for _ in range(2):
        with pytest.raises(LedgerDamaged):
            await again.texts(ANN)
    assert await again.texts(BEN) == ["fine"]
    await again.close()


async def test_vectors_of_a_snapshot_with_its_tail_answer_alike(tmp_path: Path, embedder: HashEmbedder) -> None:
    stack = await Stack.open(tmp_path, embedder, crossover=30)
    await stack.remember(ANN, *(f"likes thing number {n}" for n in range(60)))
    loaded = await stack.residency.get(WHO)
    await loaded.resident.vectors.maintain()
    await save(stack)
    await stack.remember(ANN, *(f"hates thing number {n}" for n in range(20)))
    live = await stack.recall(ANN, "hates number 7", tiers=frozenset({Tier.VECTOR}), max_hits=5)
    again = await stack.again(crossover=30)
    loaded_again = await again.recall(ANN, "hates number 7", tiers=frozenset({Tier.VECTOR}), max_hits=5)
    assert [hit.memory for hit in loaded_again.hits] == [hit.memory for hit in live.hits]
    assert [hit.score for hit in loaded_again.hits] == pytest.approx([hit.score for hit in live.hits], abs=1e-5)
    await again.close()


def _beside(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    return folder


def _words(folder: Path) -> list[str]:
    """Files that still hold the word."""
    return [path.name for path in folder.rglob("*") if path.is_file() and b"xylophon" in path.read_bytes()]
