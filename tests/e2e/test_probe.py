"""`memsidecar probe` beside a real sidecar: what a container's health check sees."""

from __future__ import annotations

import socket

from memsidecar_client import Memsidecar

from tests.e2e.process import Launch, run, until


def test_a_probe_follows_a_sidecar_through_its_life(launch: Launch) -> None:
    port = _free_port()
    flag = f"--health.port={port}"
    sidecar = launch({"health.port": str(port), "health.host": "127.0.0.1", "drain_grace": "60"})
    until(lambda: run("probe", flag).code == 0, "it serves")
    for service in ("startup", "liveness", "readiness", "memsidecar.v1.MemoryService"):
        assert run("probe", flag, f"--service={service}").out == "SERVING\n"
    with Memsidecar(sidecar.target, user="ann") as client, client.remember_stream() as stream:
        stream.send(["said before the signal"])
        until(lambda: bool(list(client.list_memories())), "it is stored")
        sidecar.terminate()
        # It drains: alive, and no longer ready.
        until(lambda: run("probe", flag).out == "NOT_SERVING\n", "it drains")
        assert run("probe", flag).code == 1
        assert run("probe", flag, "--service=liveness").code == 0
        stream.finish()
    assert sidecar.wait() == 0
    assert run("probe", flag).code == 75


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
