"""Addresses, users, passwords and certificates."""

from __future__ import annotations

import asyncio
import socket
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
        f"redis://me:{ENCODED}@host?what=1",
        f"redis+cluster://me:{ENCODED}@host?what=1",
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

    login, forbidden = "the user or the password is refused", "the user may not do what sessions need"
    for address, problem, reason in (
        (f"unix://me:wrong@{server.socket}", "user or password", login),
        (server.url, "user or password", login),
        (f"unix://weak:{ENCODED}@{server.socket}", "permit", forbidden),
    ):
        store = RedisSessions.connect(RedisSettings(address))
        with pytest.raises(StoreUnavailable, match=problem) as refused:
            await store.get(key_of(session))
        assert "wrong" not in f"{refused.value}{refused.value.reason}"
        assert refused.value.reason == reason
        await store.close()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("redis://me:hush@127.0.0.1:{closed}", "connection refused"),
        ("redis://me:hush@localhost:{closed}", "connection refused"),
        ("redis://me:hush@nowhere.invalid", "the host's name is not found"),
        ("redis+cluster://me:hush@127.0.0.1:{closed}", "connection refused"),
        ("unix://me:hush@{folder}/none", "no such file or directory"),
        ("rediss://me:hush@127.0.0.1:{plain}", "TLS: wrong version number"),
        ("redis://127.0.0.1:{plain}", "the connection breaks"),
    ],
)
async def test_the_log_learns_the_kind_of_failure_and_callers_do_not(address: str, reason: str, tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" if "rediss" in address else b"")
        writer.close()

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        plain = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with plain:
            ports = {"closed": closed.getsockname()[1], "plain": plain.sockets[0].getsockname()[1]}
            store = RedisSessions.connect(RedisSettings(address.format(folder=tmp_path, **ports)))
            with pytest.raises(StoreUnavailable) as refused:
                await store.check()
            await store.close()
    assert refused.value.reason == reason
    assert str(refused.value) == "the sessions store does not answer"


async def test_a_database_that_the_server_has_not_is_named_in_the_log(server: RunningServer) -> None:
    store = RedisSessions.connect(RedisSettings(f"{server.url}?db=99"))
    with pytest.raises(StoreUnavailable) as refused:
        await store.check()
    await store.close()
    assert refused.value.reason == "there is no database of that number"


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
        with pytest.raises(StoreUnavailable) as refused:
            await suspicious.check()
        await suspicious.close()
        assert refused.value.reason.startswith("TLS: the certificate is refused (")
