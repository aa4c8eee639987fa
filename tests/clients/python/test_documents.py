"""The README and the example run as printed."""

from __future__ import annotations

import ast
import asyncio
import re
import runpy
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from memsidecar_client import AsyncMemsidecar, Preference
from memsidecar_client.v1.info_service_pb2 import GetServerInfoResponse
from memsidecar_client.v1.memory_service_pb2 import BatchRememberResponse, RememberResponse
from memsidecar_client.v1.recall_service_pb2 import RecallOnceResponse, RecallResponse
from memsidecar_client.v1.session_service_pb2 import GetWindowResponse

from tests.clients.python.fake_sidecar import FakeSidecar, made
from tests.clients.python.scripted_generation import ScriptedGeneration, Stream, oblige

ROOT = Path(__file__).parents[3] / "clients" / "python"


def readme_code() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def first_readme_code() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT.parents[1] / "README.md").read_text(), re.DOTALL)


def test_readme_session_runs(
    fake: FakeSidecar, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSIDECAR_TARGET", fake.target)
    fake.answers["Remember"] = made(RememberResponse, revision={"token": "r1"})
    fake.answers["RecallOnce"] = made(RecallOnceResponse, hits=[{"score": 0.9, "text": "2026-05-01 oat milk"}])
    session = readme_code()[0]
    assert len(session.strip().splitlines()) <= 10
    exec(compile(session, "README.md", "exec"), {})
    assert capsys.readouterr().out == "0.90 2026-05-01 oat milk\n"
    spoken, typed = (call.request for call in fake.calls["Remember"])
    assert (spoken.scope.user, spoken.item.speaker) == ("ana", "Ana")
    assert typed.item.memory.WhichOneof("body") == Preference.__name__.lower()
    assert fake.only("RecallOnce").options.min_revision.token == "r1"


def test_the_first_readmes_code_runs(
    fake: FakeSidecar, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSIDECAR_TARGET", fake.target)
    fake.answers["RecallOnce"] = made(RecallOnceResponse, hits=[{"score": 0.5, "text": "no peanuts"}])
    exec(compile(first_readme_code()[0], "README.md", "exec"), {})
    assert capsys.readouterr().out == "0.50  no peanuts\n"
    assert fake.only("Remember").item.text == "I'm allergic to peanuts."


async def test_the_first_readmes_three_lines_bring_a_memory_while_a_model_writes(
    writer: AsyncMemsidecar, server: ScriptedGeneration, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asyncio.Event()

    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until_text("peanut")
        await stream.hit("m", "no peanuts")
        found.set()
        await oblige(stream)

    async def model() -> AsyncIterator[str]:
        yield "With peanut sauce. "
        await asyncio.wait_for(found.wait(), 10)
        while not capsys.readouterr().out.startswith("← no peanuts"):
            yield "And "
            await asyncio.sleep(0.01)

    server.scripts = [script]
    code = compile(first_readme_code()[1], "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await asyncio.wait_for(eval(code, {"memory": writer, "question": "A recipe?", "stream": model()}), 10)
    assert server.streams[0].start.prompt == "A recipe?"


def test_readme_code_is_python() -> None:
    for code in readme_code():
        compile(code, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_quickstart_runs(
    fake: FakeSidecar, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.answers["GetServerInfo"] = made(
        GetServerInfoResponse, version="0.1.0", embedding_model="e", default_namespace="d"
    )
    fake.answers["BatchRemember"] = made(
        BatchRememberResponse, results=[{"index": 1, "error": {"code": 3, "message": "no"}}], revision={"token": "r1"}
    )
    fake.recall_events = [
        made(RecallResponse, hit={"memory": {"name": "m"}, "tier": 4, "text": "the token had expired"}),
        made(RecallResponse, summary={"ranked_memories": ["m"], "ranked_scores": [0.5], "confidence": 0.5}),
    ]
    fake.answers["GetWindow"] = made(GetWindowResponse, messages=[{"role": 2, "text": "hi"}], token_count=5)
    monkeypatch.setattr("sys.argv", ["quickstart.py", fake.target])
    runpy.run_path(str(ROOT / "examples" / "quickstart.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [
        "memsidecar 0.1.0 embeds with e",
        "item 1 was refused: no",
        "found by KEYWORD: the token had expired",
        "1 hits, confidence 0.50",
        "1 messages, 5 tokens",
    ]
    assert fake.only("AppendMessages").session == "namespaces/d/users/ana/sessions/quickstart"
