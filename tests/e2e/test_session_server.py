"""The Redis-protocol server dies, comes back, or is somebody else's."""

from __future__ import annotations

from pathlib import Path

import pytest
from memsidecar_client import Memsidecar, MemsidecarError, Message, Role, Unavailable

from tests.e2e.process import Launch, session_server, until
from tests.e2e.story import answers, tell
from tests.session_servers import RunningServer


def _message(text: str) -> list[Message]:
    return [Message(Role.USER, text)]


def _texts(client: Memsidecar) -> list[str]:
    return [message.text for message in client.session("s").messages()]


def _answers_again(client: Memsidecar) -> bool:
    try:
        client.session("s").get()
    except Unavailable as error:
        if (error.reason, error.metadata["store"]) != ("STORE_UNAVAILABLE", "sessions"):
            raise
        return False
    return True


def test_killed_server_comes_back_by_itself_with_its_messages(launch: Launch) -> None:
    sidecar = launch()
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client)
        told = answers(client)
        client.session("s").create()
        for number in range(20):
            client.session("s").append(_message(f"message {number}"))
        before = session_server(sidecar)
        before.kill()
        before.wait(10)
        assert answers(client) == told  # long-term memory does not depend on it
        until(lambda: _answers_again(client), "sessions answer again")
        assert _texts(client) == [f"message {number}" for number in range(20)]
        assert session_server(sidecar).pid != before.pid
        client.session("s").append(_message("and on"))
        assert _texts(client)[-1] == "and on"


def test_someone_elses_server_may_come_and_go(launch: Launch, tmp_path: Path) -> None:
    place = tmp_path / "redis"
    place.mkdir()
    server = RunningServer(place, appendonly="yes", appendfsync="always")
    server.start()
    try:
        sidecar = launch({"redis.url": server.url})
        with Memsidecar(sidecar.target, user="ann", timeout=5) as client:
            tell(client)
            told = answers(client)
            client.session("s").create()
            client.session("s").append(_message("kept"))
            assert not (sidecar.data_dir / "sessions").exists()
            server.kill()
            for call in (
                lambda: client.session("s").append(_message("lost")),
                lambda: client.session("s").window(),
                lambda: client.session("t").create(),
                lambda: list(client.list_sessions()),
            ):
                with pytest.raises(MemsidecarError) as refused:
                    call()
                assert isinstance(refused.value, Unavailable)
                assert refused.value.reason == "STORE_UNAVAILABLE"
                assert refused.value.retry_after is not None
            assert answers(client) == told
            client.remember("Long-term memory goes on.")
            server.start()
            until(lambda: _answers_again(client), "sessions answer again")
            assert _texts(client)[0] == "kept"
            # A sidecar that starts while the server is away serves, too.
            assert sidecar.stop() == 0
            server.kill()
            sidecar.start()
            assert client.get_memory(told.memories[0].name) == told.memories[0]
            server.start()
            until(lambda: _answers_again(client), "sessions answer again")
    finally:
        server.kill()


def test_memory_goes_on_while_the_private_server_cannot_start(launch: Launch, tmp_path: Path) -> None:
    in_the_way = tmp_path / "data" / "sessions" / "valkey.sock"
    in_the_way.mkdir(parents=True)
    sidecar = launch()
    with Memsidecar(sidecar.target, user="ann", timeout=5) as client:
        tell(client)
        assert answers(client)
        with pytest.raises(Unavailable) as away:
            client.session("s").create()
        assert (away.value.reason, away.value.metadata["store"]) == ("STORE_UNAVAILABLE", "sessions")
        assert "does not start" in str(away.value)
        in_the_way.rmdir()
        until(lambda: _created(client), "sessions work")
    assert sidecar.stop() == 0


def _created(client: Memsidecar) -> bool:
    try:
        client.session("s").create()
    except Unavailable:
        return False
    return True
