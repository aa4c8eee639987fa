"""Which build of hnswlib a CPU gets."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from memsidecar.adapters.hnsw_vectors.cpu_build import LEVEL, hnswlib, level_build

# As Linux prints it for a server of 2013; "lm" and the like are in every x86-64.
_HASWELL = "fpu lm cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    folder = tmp_path / "lib" / LEVEL
    folder.mkdir(parents=True)
    (folder / f"hnswlib{EXTENSION_SUFFIXES[0]}").touch()
    return tmp_path


def _cpuinfo(folder: Path, flags: str) -> Path:
    path = folder / "cpuinfo"
    path.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: avx2_is_no_bug\n")
    return path


def test_a_cpu_that_has_all_of_the_level_gets_its_build(environment: Path) -> None:
    built = level_build(environment, _cpuinfo(environment, _HASWELL))
    assert built is not None
    assert built.parent == environment / "lib" / LEVEL


@pytest.mark.parametrize("lacking", ["avx2", "fma", "bmi2", "movbe"])
def test_a_cpu_that_lacks_a_part_of_the_level_gets_the_portable_build(environment: Path, lacking: str) -> None:
    flags = " ".join(flag for flag in _HASWELL.split() if flag != lacking)
    assert level_build(environment, _cpuinfo(environment, flags)) is None


def test_without_a_second_build_the_portable_one_is_used(tmp_path: Path) -> None:
    assert level_build(tmp_path, _cpuinfo(tmp_path, _HASWELL)) is None


def test_a_build_for_another_python_is_not_taken(tmp_path: Path) -> None:
    folder = tmp_path / "lib" / LEVEL
    folder.mkdir(parents=True)
    (folder / "hnswlib.cpython-310-x86_64-linux-gnu.so").touch()
    assert level_build(tmp_path, _cpuinfo(tmp_path, _HASWELL)) is None


def test_where_nothing_tells_what_the_cpu_can_do_the_portable_build_is_used(environment: Path) -> None:
    assert level_build(environment, environment / "none") is None
    assert level_build(environment, _cpuinfo(environment, "")) is None


def test_the_build_that_is_loaded_is_the_one_that_was_chosen() -> None:
    chosen = level_build()
    assert Path(hnswlib.__file__).parent.name == (LEVEL if chosen is not None else "site-packages")
