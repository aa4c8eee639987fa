"""Addresses, users, passwords and certificates."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path

import pytest
from redis.asyncio import Redis

from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.domain.errors import InvalidField, StoreUnavailable
from tests.adapters.redis_sessions.conftest import NOW, a_session, key_of, said
from tests.session_servers import RunningServer

SECRET = "p@ss:w/rd"
ENCODED = "p%40ss%3Aw%2Frd"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        "http://x",
        f"redis://me:{ENCODED}@host:port",
        f"redis://me:{ENCODED}@[::1",
        "unix+cluster:///s",
    ],
)
def test_an_address_of_another_kind_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InvalidField) as refused:
        RedisSessions.connect(RedisSettings(url))
    assert ENCODED not in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_cluster_has_no_unix_socket() -> None:
    with pytest.raises(InvalidField):
        RedisSessions.connect(RedisSettings("unix:///s", cluster=True))


def test_settings_do_not_show_the_password() -> None:
    assert ENCODED not in repr(RedisSettings(f"redis://me:{ENCODED}@host"))


async def test_a_user_with_password_may_do_all_that_sessions_need(server: RunningServer) -> None:
    async with Redis.from_url(server.url) as admin:
        commands = ["+@hash", "+@list", "+@sortedset", "+@keyspace", "+@scripting", "+@connection", "+time"]
        for name, rights in (("me", commands), ("weak", ["+ping"])):
            await admin.acl_setuser(name, enabled=True, passwords=[f"+{SECRET}"], keys=["ms1:*"], commands=rights)
        await admin.acl_setuser("default", enabled=False)
    session = a_session()
    store = RedisSessions.connect(RedisSettings(f"unix://me:{ENCODED}@{server.socket}"))
    await store.create(session, "", b"")
    await store.append(key_of(session), [said("x")], NOW, None, "r", b"d")
    assert len(await store.list(session.scope.partition, "", 5)) == 1
    assert await store.delete(key_of(session))
    await store.close()

    for address, problem in (
        (f"unix://me:wrong@{server.socket}", "user or password"),
        (server.url, "user or password"),
        (f"unix://weak:{ENCODED}@{server.socket}", "permit"),
    ):
        store = RedisSessions.connect(RedisSettings(address))
        with pytest.raises(StoreUnavailable, match=problem) as refused:
            await store.get(key_of(session))
        assert "wrong" not in str(refused.value)
        await store.close()


def certificates(directory: Path) -> None:
    """An authority, and a certificate for localhost that it signed."""
    script = """
    set -e
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
      -addext keyUsage=critical,keyCertSign -keyout ca.key -out ca.pem
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout server.key -out csr
    printf 'subjectAltName=DNS:localhost\nauthorityKeyIdentifier=keyid' > extensions
    openssl x509 -req -in csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem
    """
    subprocess.run(["sh", "-c", script], cwd=directory, check=True, capture_output=True)


async def test_tls_needs_the_authority(server: RunningServer) -> None:
    """The packaged server has no TLS of its own, so the line to it is encrypted in front of it."""
    certificates(server.directory)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(server.directory / "server.pem", server.directory / "server.key")

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_unix_connection(server.socket)
        await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer))

    front = await asyncio.start_server(forward, "127.0.0.1", 0, ssl=context)
    async with front:
        url = f"rediss://localhost:{front.sockets[0].getsockname()[1]}"
        trusting = RedisSessions.connect(RedisSettings(url, ca_file=str(server.directory / "ca.pem")))
        await trusting.check()
        await trusting.create(a_session(), "", b"")
        await trusting.close()
        suspicious = RedisSessions.connect(RedisSettings(url))
        with pytest.raises(StoreUnavailable):
            await suspicious.check()
        await suspicious.close()
