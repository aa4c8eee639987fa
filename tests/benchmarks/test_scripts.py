"""That the long benchmarks work at all: each once, as small as it goes, with no other system than ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import load, scale, store
from tests.benchmarks.compare.comparison import compare
from tests.benchmarks.compare.contest import Standing, Terms
from tests.benchmarks.compare.systems import OURS, SYSTEMS, System
from tests.benchmarks.compare.table import render, rows
from tests.benchmarks.compare.workload import Scenario, write_workload
from tests.benchmarks.dataset import HITS, Dataset
from tests.benchmarks.generation import lasting, latency
from tests.benchmarks.measuring import samples
from tests.benchmarks.plan import Plan

TERMS = Terms(questions=20, checked=5, ingest_budget=60.0, search_budget=30.0, restarts=1)
LANGGRAPH, CHROMA = (next(s for s in SYSTEMS if s.name == name) for name in ("langgraph-sqlite", "chroma"))


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plan]:
    monkeypatch.setattr(store, "_AT_REST_SECONDS", 0.5)
    with closing(Plan(tmp_path, quick=True, memories=2_000)) as plan:
        plan.sizes, plan.seconds, plan.questions = (50, 100, 200), 0.5, 20
        yield plan


def test_comparison_measures_memsidecar_alone(plan: Plan) -> None:
    results = list(compare(plan, [OURS], [Scenario(3, 40)], TERMS))
    measured = {result.name: result for result in results}
    assert measured["compared: 3 users x 40, found of 10"].measured == 1.0
    assert all(measured[f"compared: 3 users x 40, {what}"].measured > 0 for what in WHAT)
    assert "memsidecar 0." in results[-1].how
    assert not list(plan.folder.glob("compare-*")), "the files are removed"


def test_load_measures_throughput_and_evenness(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_PARTS", 1)
    throughput, evenness = load.under_load(plan)
    assert throughput.measured > 0
    assert evenness.measured >= 1


def test_a_hit_is_measured_beside_a_ping_pong(plan: Plan) -> None:
    (hit,) = latency.against_ping_pong(plan)
    assert hit.measured > 1


def test_a_crowd_is_answered_and_recall_gives_words_first(plan: Plan) -> None:
    plan.sizes = (256, 256, 256)
    (evaluated,) = latency.crowd(plan)
    assert evaluated.numbers["unanswered"] == 0
    (first,) = latency.first_of_recall(plan)
    assert 0 < first.measured <= 1


def test_streams_that_end_in_every_way_leave_nothing(plan: Plan) -> None:
    counted, *_ = lasting.ended(plan)
    assert counted.verdict == "PASS", counted.how


def test_streams_that_nobody_reads_are_held_and_do_not_stop_another(plan: Plan) -> None:
    held, beside = lasting.unread(plan)
    assert 0 < held.measured < 2_000
    assert beside.measured > 0


def test_every_stream_is_told_that_the_process_goes(plan: Plan) -> None:
    told, exit_time = lasting.drained(plan)
    assert told.verdict == exit_time.verdict == "PASS", (told.how, exit_time.how)


def test_scale_tells_users_in_memory_from_others(plan: Plan) -> None:
    held, hit, miss = scale.many_users(plan)
    assert 0 < held.measured < 100
    assert hit.measured > 0
    assert miss.measured > 0


def test_scale_compares_one_partition_with_exact_search(plan: Plan) -> None:
    found, _ = scale.one_partition(plan)
    assert found.measured > 0.98


def test_kept_memories_are_not_stored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_AT_REST_SECONDS", 0.5)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "scale-shared.stored").write_text("2")
    with closing(Plan(tmp_path, quick=True, memories=500, kept=kept)) as plan:
        plan.questions = 5
        found, _ = scale.one_partition(plan)
    assert found.measured < 0.5, "the store is empty: the mark says that both batches are there"


def test_workload_knows_the_right_answers(tmp_path: Path) -> None:
    workload = write_workload(tmp_path / "data", Dataset(), Scenario(2, 300), questions=4)
    vectors = np.load(workload.folder / "memories.npy")
    everybody, own = workload.exact(4, own=False), workload.exact(4, own=True)
    assert [len(texts) for texts in (*everybody, *own)] == [HITS] * 8
    assert vectors.shape == (600, 384)
    assert workload.askers[0] != workload.askers[1]
    assert everybody != own


def test_runner_has_no_network() -> None:
    program = (
        "import socket; from tests.benchmarks.compare import serving; serving._only_this_machine();"
        "socket.create_connection(('127.0.0.1', 9))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "has no network" in done.stderr


WHAT = ("search p50, ms", "search p99, ms", "ingest, memories/s", "peak memory, MiB", "first answer, s")


def standing(system: System, milliseconds: float, gave_up: str = "") -> Standing:
    taken = {} if gave_up else {mode.name: samples([milliseconds / 1000] * 20) for mode in system.modes}
    return Standing(system, stored=100, ingest_seconds=1.0, searches=taken, gave_up=gave_up)


def test_table_says_who_is_ahead() -> None:
    table = list(rows(Scenario(1, 100), [standing(OURS, 2.0), standing(LANGGRAPH, 1.0), standing(CHROMA, 4.0)], TERMS))
    assert table[0].ahead_of_us == ["SqliteStore"]
    assert table[0].lead == pytest.approx(0.5)
    assert "1.00*" in render(table)


def test_table_has_nobody_ahead_who_gave_up() -> None:
    standings = [standing(OURS, 2.0), standing(LANGGRAPH, 0.0, gave_up="> 60 s (7 stored)"), standing(CHROMA, 4.0)]
    table = list(rows(Scenario(1, 100), standings, TERMS))
    assert table[0].ahead_of_us == []
    assert table[0].lead == pytest.approx(2.0)
    assert "> 60 s (7 stored)" in render(table)
