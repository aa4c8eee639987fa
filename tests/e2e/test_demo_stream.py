"""`make demo-stream` shows what it promises, and fails when it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "clients" / "python" / "examples" / "recall_during.py"


def play(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSIDECAR_", "OPENAI_"))}
    environment |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'clients' / 'python'}", **variables}
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *words],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=environment,
    )


def test_memories_come_and_one_is_taken_back() -> None:
    run = play("--pace", "0.005")
    assert run.returncode == 0, run.stdout + run.stderr
    lines = [line.strip() for line in run.stdout.splitlines()]
    marks = [line[0] for line in lines if line[:1] in ("●", "✗", "↻")]
    assert marks.count("●") >= 3
    assert marks.index("✗") + 1 == marks.index("↻")
    assert any("allergic to peanuts" in line for line in lines)
    assert any("我吃素" in line for line in lines)
    assert "No, that has just changed: at 20:00!" in run.stdout
    assert "\x1b" not in run.stdout


class Endpoint(BaseHTTPRequestHandler):
    answer = ""
    asked: dict[str, object]

    def do_POST(self) -> None:
        Endpoint.asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Endpoint.asked["key"] = self.headers["authorization"]
        self.send_response(401 if "/bad/" in self.path else 200)
        self.end_headers()
        for word in Endpoint.answer.split(" "):
            chunk = {"choices": [{"index": 0, "delta": {"content": word + " "}}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_real_endpoint_writes_when_one_is_named(endpoint: str) -> None:
    Endpoint.answer = "Cook without peanut sauce. Then go to the Fado concert in Alfama. It begins late."
    run = play("--pace", "0.005", OPENAI_MODEL="m", OPENAI_BASE_URL=endpoint, OPENAI_API_KEY="k")
    assert run.returncode == 0, run.stdout + run.stderr
    assert (Endpoint.asked["model"], Endpoint.asked["stream"], Endpoint.asked["key"]) == ("m", True, "Bearer k")
    assert "Fado concert in Alfama begins at 20:00" in run.stdout


def test_it_fails_when_nothing_was_recalled(endpoint: str) -> None:
    Endpoint.answer = "Zzz."
    run = play("--pace", "0.005", OPENAI_MODEL="m", OPENAI_BASE_URL=endpoint)
    assert run.returncode == 1, run.stdout + run.stderr


def test_an_answer_that_never_names_the_concert_is_fine_and_it_says_that_nothing_was_taken_back(endpoint: str) -> None:
    Endpoint.answer = "Cook lentils without peanut sauce. Then a walk."
    run = play("--pace", "0.005", OPENAI_MODEL="m", OPENAI_BASE_URL=endpoint)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "None was taken back: the answer never came to the concert" in run.stdout


def test_an_endpoint_that_refuses_is_told_in_a_line(endpoint: str) -> None:
    run = play("--pace", "0.005", OPENAI_MODEL="m", OPENAI_BASE_URL=endpoint.replace("/v1", "/bad/v1"))
    assert run.returncode == 1
    assert "401" in run.stderr
    assert "OPENAI_API_KEY" in run.stderr
    assert "Traceback" not in run.stderr


def test_the_simulated_run_shows_only_what_bears_on_the_answer_and_each_once() -> None:
    run = play("--pace", "0.005")
    assert "old maps" not in run.stdout
    assert sum(line.strip().startswith("●") and "peanut" in line for line in run.stdout.splitlines()) == 1
