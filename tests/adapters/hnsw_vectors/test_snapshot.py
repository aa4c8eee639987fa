"""A snapshot is loaded whole or not at all."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from memsidecar.adapters.hnsw_vectors import HnswSettings, HnswVectorIndex, HnswVectorIndexes
from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.events import Matrix

MANIFEST = "snapshot.json"


def unit(count: int, dimensions: int = 8, seed: int = 0) -> Matrix:
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


@pytest.fixture
async def indexes() -> AsyncIterator[HnswVectorIndexes]:
    factory = HnswVectorIndexes(HnswSettings(crossover=64))
    yield factory
    await factory.close()


@pytest.fixture
async def index(indexes: HnswVectorIndexes) -> AsyncIterator[HnswVectorIndex]:
    made = indexes.create(8)
    for row, vector in enumerate(unit(200)):
        made.add(row, vector[None])
    await made.maintain()
    yield made
    await made.close()


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def kinds(folder: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in folder.iterdir())


@pytest.mark.parametrize("pattern", ["graph-*", "arrays-*", MANIFEST])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.7, 0.99])
async def test_one_flipped_bit_is_refused(
    indexes: HnswVectorIndexes, index: HnswVectorIndex, tmp_path: Path, pattern: str, place: float
) -> None:
    await index.save(tmp_path)
    path = only(tmp_path, pattern)
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 4
    path.write_bytes(content)
    assert await indexes.load(tmp_path, 8) is None


@pytest.mark.parametrize("pattern", ["graph-*", "arrays-*", MANIFEST])
@pytest.mark.parametrize("kept", [0, 1, 100])
async def test_truncated_file_is_refused(
    indexes: HnswVectorIndexes, index: HnswVectorIndex, tmp_path: Path, pattern: str, kept: int
) -> None:
    await index.save(tmp_path)
    path = only(tmp_path, pattern)
    path.write_bytes(path.read_bytes()[:kept])
    assert await indexes.load(tmp_path, 8) is None


@pytest.mark.parametrize("text", ["3", "[]", "{}", '"x"', "null", '{"checksum": 1}'])
async def test_a_manifest_of_another_kind_is_refused(
    indexes: HnswVectorIndexes, index: HnswVectorIndex, tmp_path: Path, text: str
) -> None:
    await index.save(tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    assert await indexes.load(tmp_path, 8) is None


@pytest.mark.parametrize("pattern", ["graph-*", "arrays-*"])
async def test_missing_file_is_refused_and_said(
    indexes: HnswVectorIndexes,
    index: HnswVectorIndex,
    tmp_path: Path,
    pattern: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await index.save(tmp_path)
    only(tmp_path, pattern).unlink()
    with caplog.at_level(logging.WARNING):
        assert await indexes.load(tmp_path, 8) is None
    assert "not intact" in caplog.text


async def test_other_dimensions_are_refused(indexes: HnswVectorIndexes, index: HnswVectorIndex, tmp_path: Path) -> None:
    await index.save(tmp_path)
    assert await indexes.load(tmp_path, 16) is None


async def test_snapshot_of_a_later_format_is_refused(
    indexes: HnswVectorIndexes, index: HnswVectorIndex, tmp_path: Path
) -> None:
    await index.save(tmp_path)
    fields = json.loads((tmp_path / MANIFEST).read_text())
    fields["format"] += 1
    (tmp_path / MANIFEST).write_text(json.dumps(fields))
    assert await indexes.load(tmp_path, 8) is None


async def test_a_save_that_was_killed_leaves_the_old_snapshot(
    indexes: HnswVectorIndexes, index: HnswVectorIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await index.save(tmp_path)
    refused = 0
    for steps in range(20):
        index.add(1_000 + steps, unit(1, seed=steps + 1))
        index.remove(steps)
        left = iter(range(steps))

        def replace_until_killed(path: Path, target: Path, left: object = left, real: object = Path.replace) -> Path:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise OSError("killed here")
            return real(path, target)  # type: ignore[operator, no-any-return]

        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", replace_until_killed)
            try:
                await index.save(tmp_path)
                break
            except StoreUnavailable:
                refused += 1
        assert not [name for name in kinds(tmp_path) if "part" in name]
        loaded = await indexes.load(tmp_path, 8)
        assert loaded is not None
        assert loaded.size == 200
        assert loaded.search(unit(1, seed=1)[0], 1)[0].tolist() != [1_000]
        await loaded.close()
    else:
        pytest.fail("no save came through")
    assert refused == 3
    assert kinds(tmp_path) == ["arrays", "graph", MANIFEST]


async def test_an_unchanged_graph_is_not_written_again(
    indexes: HnswVectorIndexes, index: HnswVectorIndex, tmp_path: Path
) -> None:
    await index.save(tmp_path)
    graph = only(tmp_path, "graph-*")
    before = graph.stat().st_ino
    index.add(500, unit(1, seed=9))
    await index.save(tmp_path)
    assert only(tmp_path, "graph-*").stat().st_ino == before
    loaded = await indexes.load(tmp_path, 8)
    assert loaded is not None
    assert loaded.search(unit(1, seed=9)[0], 1)[0].tolist() == [500]
    await loaded.save(tmp_path)
    assert only(tmp_path, "graph-*").stat().st_ino == before
    await loaded.close()


async def test_removals_from_hnswlib_survive(
    indexes: HnswVectorIndexes, index: HnswVectorIndex, tmp_path: Path
) -> None:
    await index.save(tmp_path)
    for row in range(40):
        index.remove(row)
    await index.save(tmp_path)
    loaded = await indexes.load(tmp_path, 8)
    assert loaded is not None
    assert loaded.size == 160
    for vector in unit(200)[:40]:
        assert loaded.search(vector, 1)[0][0] >= 40
    for row in range(40, 150):
        loaded.remove(row)
    await loaded.maintain()
    assert sorted(loaded.search(unit(1)[0], 100)[0].tolist()) == list(range(150, 200))
    await loaded.close()


async def test_a_folder_that_cannot_be_written_is_an_unavailable_store(index: HnswVectorIndex, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable):
        await index.save(tmp_path / "file" / "below")


async def test_a_write_that_hnswlib_does_not_report_as_failed_is_noticed(
    indexes: HnswVectorIndexes, index: HnswVectorIndex, tmp_path: Path
) -> None:
    await index.save(tmp_path)
    index.remove(3)
    (tmp_path / "graph.part").symlink_to("/dev/full")
    with pytest.raises(StoreUnavailable):
        await index.save(tmp_path)
    loaded = await indexes.load(tmp_path, 8)
    assert loaded is not None
    assert loaded.size == 200
    await loaded.close()
    await index.save(tmp_path)
    assert kinds(tmp_path) == ["arrays", "graph", MANIFEST]
