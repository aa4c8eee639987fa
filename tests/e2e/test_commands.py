"""What `make demo` and `make quality` run, as a newcomer runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.e2e.process import run
from tests.sidecar import ROOT

TURNS = {
    "t1": "I moved to Porto in May, near the river.",
    "t2": "My sister Ines plays the cello.",
    "t3": "我每天早上喝绿茶。",
}
QUESTIONS = {"q1": ("Who plays the cello?", "t2"), "q2": ("她早上喝什么？", "t3")}


def test_the_demo_finds_what_was_said_in_both_languages() -> None:
    ran = run("demo")
    assert ran.code == 0, ran.err
    found = [line for line in ran.out.splitlines() if "✓" in line]
    assert any("peanuts" in line for line in found)
    assert any("绿茶" in line for line in found)
    assert "similarity" in ran.out


def test_an_evaluation_that_was_interrupted_goes_on_where_it_stopped(tmp_path: Path) -> None:
    data, results = tmp_path / "chat.jsonl", tmp_path / "results.jsonl"
    _write(data, [{"kind": "question", "sample": "a", "id": i, "question": q} for i, (q, _) in QUESTIONS.items()])
    _evaluate(str(data), str(results))
    first = results.read_text(encoding="utf-8").splitlines()
    assert {r["id"]: r["ranked"][0][0] for r in map(json.loads, first)} == {i: t for i, (_, t) in QUESTIONS.items()}
    assert all(
        set(json.loads(line)) == {"id", "ranked", "confidence", "latency_ms", "superseded", "conflicts"}
        for line in first
    )

    results.write_text(f"{first[0]}\n{first[1][:9]}", encoding="utf-8")  # killed while it wrote
    _evaluate(str(data), str(results))
    again = results.read_text(encoding="utf-8").splitlines()
    assert again[0] == first[0]
    assert json.loads(again[1])["ranked"] == json.loads(first[1])["ranked"]


def test_usefulness_during_generation_is_measured_from_what_streams_send(tmp_path: Path) -> None:
    data, out = tmp_path / "chat.jsonl", tmp_path / "STREAMING.md"
    answers = {"q1": "Your sister Ines does, as she told me.", "q2": "她每天早上喝绿茶。"}
    _write(
        data,
        [
            {"kind": "question", "sample": "a", "id": i, "question": q, "answer": answers[i], "evidence": [turn]}
            for i, (q, turn) in QUESTIONS.items()
        ],
    )
    _evaluate(str(data), "--out", str(out), "--thresholds", "0", "1", module="tests.quality.streaming")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in out.read_text("utf-8").splitlines()]
    everything = [row for row in rows if row[:1] == ["0"]]
    assert len(everything) == 3
    assert [row[3] for row in everything] == ["100.0 %"] * 3
    assert everything[0][1] == "100.0 %", "the prompt alone brings it before the answer begins"
    assert [row[3:8] for row in rows if row[:1] == ["1"]] == [["0.0 %", "0.0 %", "0.00", "0.00", "-"]] * 3
    assert sum("all as by default (0 withheld)" in row[0] for row in rows if row) == 3


def _write(data: Path, questions: list[dict[str, object]]) -> None:
    turns = [
        {
            "kind": "turn",
            "sample": "a",
            "session": "s",
            "id": i,
            "speaker": "Ana",
            "time": "2026-05-01T10:00:00",
            "text": t,
        }
        for i, t in TURNS.items()
    ]
    data.write_text("".join(f"{json.dumps(record)}\n" for record in (*turns, *questions)), encoding="utf-8")


def _evaluate(*arguments: str, module: str = "tests.quality") -> None:
    command = [sys.executable, "-m", module, *arguments]
    path = f"{ROOT}:{ROOT / 'clients' / 'python'}"
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
