"""Wall clocks are recorded, never trusted: order and revisions stay right when they step back."""

from __future__ import annotations

import sys
from pathlib import Path

from memsidecar_client import Fact, Memory, MemoryOrder, Memsidecar, Message, Role

from tests.e2e.process import CLEAN, Launch, verify
from tests.e2e.story import vector

DAY = 86_400


def test_clock_that_steps_back_changes_no_order(launch: Launch, tmp_path: Path) -> None:
    offset = tmp_path / "offset"
    offset.write_text("0")
    sidecar = launch(start=False)
    sidecar.program = [sys.executable, "-m", "tests.e2e.clock_launcher", str(offset)]
    sidecar.start()
    with Memsidecar(sidecar.target, user="ann") as client:
        session = client.session("s")
        session.create()
        told: list[Memory] = []
        revision = ""
        for number, seconds in enumerate((0, -3600, -2 * DAY, 5 * DAY, 0, -400 * DAY, 1)):
            offset.write_text(str(seconds))
            if number == 4:  # a start in the past of what it has written
                sidecar.kill()
                sidecar.start()
            written = client.remember(Fact(f"Fact number {number}"), embedding=vector(str(number)))
            told += written.memories
            revision = written.revision
            session.append([Message(Role.USER, f"message {number}")])
            # Read your writes, whatever the clock says.
            found = client.recall(f"number {number}", embedding=vector(str(number)), min_revision=revision)
            assert found.hits[0].memory.name == told[-1].name
            changed = client.update_memory(Memory(Fact(f"Fact number {number}!"), name=told[0].name))
            assert client.get_memory(told[0].name).text == f"Fact number {number}!"
            assert changed.memory.etag == str(number + 2)
        names = [memory.name for memory in told]
        for page_size in (2, 1_000):
            assert [m.name for m in client.list_memories(page_size=page_size)] == names
            newest = client.list_memories(page_size=page_size, order=MemoryOrder.NEWEST_FIRST)
            assert [m.name for m in newest] == names[::-1]
        history = [r.snapshot.text for r in client.memory_history(told[0].name) if r.snapshot]
        assert history == [*(f"Fact number {n}!" for n in reversed(range(7))), "Fact number 0"]
        assert [m.text for m in session.messages()] == [f"message {n}" for n in range(7)]
        assert client.delete_memory(names[3]).memory is not None
        assert [m.name for m in client.list_memories()] == names[:3] + names[4:]
        sidecar.kill()
        offset.write_text(str(-30 * DAY))
        sidecar.start()
        assert [m.name for m in client.list_memories()] == names[:3] + names[4:]
        assert client.recall("number 5", embedding=vector("5"), min_revision=revision).hits[0].memory.name == names[5]
    assert sidecar.stop() == 0
    assert verify(sidecar.data_dir) == CLEAN
