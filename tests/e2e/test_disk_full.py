"""A volume that is small, fills up, and has room again."""

from __future__ import annotations

from pathlib import Path

from memsidecar_client import Memsidecar, ResourceExhausted, Unavailable

from tests.e2e.process import CLEAN, Launch, until, verify
from tests.e2e.story import ALL, answers, tell, vector
from tests.e2e.volume import small_volume

PADDING = "padding " * 4000  # 32 KB a memory


def test_full_disk_refuses_writes_and_loses_nothing(launch: Launch, tmp_path: Path, engine: str) -> None:
    settings = {"graph.engine": engine}
    with small_volume(tmp_path / "small", 64) as volume:
        data = volume.path / "data"
        sidecar = launch(settings, data=data, start=False)
        sidecar.log_path = tmp_path / "log"
        sidecar.start()  # a small volume is no reason not to
        with Memsidecar(sidecar.target, user="ann") as client:
            tell(client)
            told = answers(client)
            session = client.session("s")
            session.create()
            acknowledged: dict[str, str] = {}

            def write(number: int) -> str:
                """The reason why it was refused, or nothing."""
                text = f"Number {number} {PADDING}"
                try:
                    done = client.remember(text, embedding=vector(text), user="bob")
                except ResourceExhausted as error:
                    return error.reason if error.retry_after else "no RetryInfo"
                acknowledged[done.memories[0].name] = done.memories[0].text
                return ""

            volume.fill(leave=3 << 20)
            refusals = [write(number) for number in range(150)]
            assert refusals[0] == ""
            assert refusals[-1] == "STORE_FULL"
            assert set(refusals) == {"", "STORE_FULL"}
            # Reads go on, and what was acknowledged is there, nothing else.
            assert answers(client) == told
            assert {m.name: m.text for m in client.list_memories(ALL, user="bob", page_size=1000)} == acknowledged
            assert client.recall("Number 0", user="bob").hits

            volume.free()
            until(lambda: write(1000) == "", "it writes again")
            assert {m.name: m.text for m in client.list_memories(ALL, user="bob", page_size=1000)} == acknowledged
            assert answers(client) == told
            _append_again(client)

            sidecar.kill()
            sidecar.start()
            assert {m.name: m.text for m in client.list_memories(ALL, user="bob", page_size=1000)} == acknowledged
            assert answers(client) == told
        assert sidecar.stop() == 0
        assert verify(data, settings) == CLEAN


def _append_again(client: Memsidecar) -> None:
    """The session server writes again, too."""

    def set_scratch() -> bool:
        try:
            client.session("s").set_scratch({"n": 1})
        except Unavailable:
            return False
        return True

    until(set_scratch, "sessions are written again")
