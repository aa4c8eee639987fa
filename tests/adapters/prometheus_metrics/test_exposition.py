"""Metrics over HTTP, with the real library on both ends."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from memsidecar.adapters.prometheus_metrics import MetricsCollector, MetricsServer
from memsidecar.adapters.prometheus_metrics import exposition as module
from memsidecar.domain.measures import Histogram
from memsidecar.ports.metrics import Kind, Metric
from tests.metrics.scrape import OPEN_METRICS, TEXT, Values, fetch, read, read_open

WAITS = Histogram((0.5, 1.0))
for seconds in (0.5, 0.7, 3.0):
    WAITS.observe(seconds)
METRICS = (
    Metric("m_done_total", Kind.COUNTER, "Things done.", lambda: [(("a",), 1), (("b",), 2)], ("kind",)),
    Metric("m_open", Kind.GAUGE, "Things open.", lambda: [((), 3)]),
    Metric("m_wait_seconds", Kind.HISTOGRAM, "Waits.", lambda: [((), WAITS)]),
    Metric("m_never_total", Kind.COUNTER, "Nothing yet.", list, ("kind",)),
)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = MetricsServer(listening, MetricsCollector(METRICS))
    server.start()
    yield int(listening.getsockname()[1])
    await server.close()


async def test_each_kind_is_shown_in_both_formats(port: int) -> None:
    for accept, parse in ((TEXT, read), (OPEN_METRICS, read_open)):
        headers, text = await asyncio.to_thread(fetch, port, accept=accept)
        assert headers["content-type"].startswith(accept.partition(";")[0])
        metrics = parse(text)
        values = Values(metrics)
        assert (values("m_done_total", kind="a"), values("m_done_total", kind="b"), values("m_open")) == (1, 2, 3)
        buckets = [values("m_wait_seconds_bucket", le=bound) for bound in ("0.5", "1.0", "+Inf")]
        assert (buckets, values("m_wait_seconds_count")) == ([1, 2, 3], 3)
        assert values("m_wait_seconds_sum") == pytest.approx(4.2)
        assert values("process_resident_memory_bytes") > 0
        kinds = {metric.name: (metric.type, metric.documentation) for metric in metrics}
        assert kinds["m_done"] == ("counter", "Things done.")
        assert kinds["m_never"] == ("counter", "Nothing yet.")


async def test_it_is_zipped_for_who_asks(port: int) -> None:
    headers, text = await asyncio.to_thread(fetch, port, zipped=True)
    assert headers["content-encoding"] == "gzip"
    assert "m_open 3.0" in text


@pytest.mark.parametrize("path", ["/", "/metrics/", "/debug", "/favicon.ico"])
async def test_there_is_nothing_else(port: int, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(fetch, port, path)
    assert refused.value.code == 404


async def test_nothing_can_be_sent_there(port: int) -> None:
    def post() -> None:
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/metrics", data=b"x"), timeout=10)

    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(post)
    assert refused.value.code == 405


async def test_it_answers_while_the_event_loop_stands_still(port: int) -> None:
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(fetch(port)[1]))
    asking.start()
    asking.join(10)
    assert "m_open 3.0" in answers[0]


async def test_a_request_may_choose_by_name(port: int) -> None:
    _, text = await asyncio.to_thread(fetch, port, "/metrics?name[]=m_open&name[]=m_done_total")
    assert {metric.name for metric in read(text)} == {"m_open", "m_done"}


async def test_what_fails_is_in_the_log_without_its_words_and_not_on_stderr(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def failing() -> list[tuple[tuple[str, ...], float]]:
        raise RuntimeError(" ".join(("a", "secret")))

    listening = socket.create_server(("127.0.0.1", 0))
    server = MetricsServer(listening, MetricsCollector([Metric("m", Kind.GAUGE, "Broken.", failing)]))
    server.start()
    with pytest.raises(urllib.error.HTTPError) as failed:
        await asyncio.to_thread(fetch, listening.getsockname()[1])
    await server.close()
    assert failed.value.code == 500
    assert "RuntimeError" in caplog.text
    assert "a secret" not in caplog.text
    assert capfd.readouterr().err == ""


async def test_who_sends_a_byte_now_and_then_locks_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.5)
    monkeypatch.setattr(module, "POLL", 0.05)
    listening = socket.create_server(("127.0.0.1", 0))
    server = MetricsServer(listening, MetricsCollector(METRICS))
    server.start()
    port = listening.getsockname()[1]
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(module.AT_ONCE)]

    def trickle_until_cut(connection: socket.socket) -> None:
        end = time.monotonic() + 10
        with connection, suppress(ConnectionError):
            connection.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
            while time.monotonic() < end:
                connection.sendall(b"x")
                time.sleep(0.05)
            raise AssertionError("never cut")

    await asyncio.gather(*(asyncio.to_thread(trickle_until_cut, each) for each in slow))
    assert "m_open" in (await asyncio.to_thread(fetch, port))[1]
    await server.close()


async def test_who_forgets_connections_locks_nobody_out(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._Handler, "timeout", 0.5)
    forgotten = [socket.create_connection(("127.0.0.1", port)) for _ in range(module.AT_ONCE)]

    def until_answered() -> str:
        end = time.monotonic() + 10
        while True:
            try:
                return fetch(port)[1]
            except (urllib.error.URLError, ConnectionError):
                assert time.monotonic() < end
                time.sleep(0.05)

    assert "m_open" in await asyncio.to_thread(until_answered)
    for each in forgotten:
        each.close()


async def test_the_port_is_free_when_it_is_closed() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    server = MetricsServer(listening, MetricsCollector(METRICS))
    server.start()
    await server.close()
    socket.create_server(address).close()
    assert not [thread for thread in threading.enumerate() if thread.name == "metrics"]


async def test_one_that_was_never_started_is_closed_too() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    await MetricsServer(listening, MetricsCollector(METRICS)).close()
    assert listening.fileno() == -1


async def test_an_address_of_the_other_protocol_will_do() -> None:
    listening = socket.create_server(("::1", 0), family=socket.AF_INET6)
    server = MetricsServer(listening, MetricsCollector(METRICS))
    server.start()
    port = listening.getsockname()[1]
    body = await asyncio.to_thread(lambda: urllib.request.urlopen(f"http://[::1]:{port}/metrics", timeout=10).read())
    assert b"m_open" in body
    await server.close()
