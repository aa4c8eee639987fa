"""What is listened on, and what is connected to."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path

import redis as driver
from redis.cluster import RedisCluster
from redis.exceptions import AuthenticationError, NoPermissionError, RedisClusterException, RedisError

from memsidecar.adapters.data_directory import owner_of
from memsidecar.adapters.redis_sessions import kind_of
from memsidecar.command.checks.outcome import Outcome, fail, ok
from memsidecar.command.machine_fit import is_group
from memsidecar.config import Config

TIMEOUT_S = 5.0


def unix_socket(config: Config) -> Outcome:
    path = config.socket_path
    group = config.listen.socket_group
    if group and not is_group(group):
        return fail(f"there is no group {group}", f"groupadd {group}, or choose another --listen.socket-group")
    existing = next((each for each in path.parents if each.exists()), Path("/"))
    if path.parent != existing and path.parent != config.data_dir:
        return fail(f"{path.parent} does not exist", f"mkdir -p {path.parent}, or choose --listen.socket")
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return fail(f"no socket can be made in {existing}", "choose a directory that can be written: --listen.socket")
    if not path.exists():
        return ok(f"{path} is free")
    if not stat.S_ISSOCK(path.stat().st_mode):
        return fail(
            f"{path} is there and is not a socket", f"move it away, or choose --listen.socket: mv {path} {path}.old"
        )
    if owner_of(config.data_dir):
        return ok(f"{path} belongs to the running sidecar")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(TIMEOUT_S)
        try:
            probe.connect(str(path))
        except OSError:
            return ok(f"{path} is left over from a process that has gone; it will be replaced")
    return fail(f"another process serves on {path}", "stop it, or choose --listen.socket")


def ports(config: Config) -> Outcome:
    wanted = [("health.port", config.health.host, config.health.port)]
    wanted.append(("metrics.port", config.metrics.host, config.metrics.port))
    wanted.append(("listen.tcp_port", config.listen.tcp_host, config.listen.tcp_port))
    taken = [(key, host, port, why) for key, host, port in wanted if port and (why := _cannot_bind(host, port))]
    if not taken:
        return ok(", ".join(f"{host}:{port} is free" for _, host, port in wanted if port) or "no ports are used")
    if all(why == _IN_USE for *_, why in taken) and owner_of(config.data_dir):
        return ok("in use, as it should be while the sidecar runs")
    found = "; ".join(f"{key}: {host}:{port} {why}" for key, host, port, why in taken)
    return fail(found, "; ".join(f"choose another --{key.replace('_', '-')} (0 for none)" for key, *_ in taken))


def redis(config: Config) -> Outcome:
    settings = config.redis
    if not settings.url:
        return ok("redis.url is empty: sessions use a private server")
    # Never the driver's own words: they can repeat the URL with its password.
    scheme, _, rest = settings.connection_url.partition("://")
    clustered = settings.cluster or scheme.endswith("+cluster")
    url = f"{scheme.removesuffix('+cluster')}://{rest}"
    options = {"ssl_ca_certs": settings.ca_file} if scheme.startswith("rediss") and settings.ca_file else {}
    try:
        if clustered:
            RedisCluster.from_url(url, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S, **options).ping()
        else:
            with driver.Redis.from_url(
                url, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S, **options
            ) as client:
                client.ping()
    except (AuthenticationError, NoPermissionError):
        return fail("the Redis server refuses the user or the password", "set redis.username and redis.password_file")
    except ValueError:
        return fail("redis.url is not a Redis address", "write it as redis://host:6379, rediss:// or unix:///path")
    except (RedisError, RedisClusterException, OSError) as error:
        return fail(
            f"the Redis server at {settings.address} does not answer: {kind_of(error)}",
            "check redis.url, the network policy, and for rediss:// redis.ca_file; until then session calls fail",
        )
    return ok("the Redis server answers")


_IN_USE = "is in use"


def _cannot_bind(host: str, port: int) -> str:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            # As gRPC does: a connection that is still closing does not keep the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return _IN_USE if error.errno == errno.EADDRINUSE else f"cannot be bound: {error.strerror}"
    return ""
