"""Binding sockets and ports."""

from __future__ import annotations

import errno
import grp
import os
import socket
import stat
from pathlib import Path
from typing import Final

import grpc

from memsidecar.domain.errors import SidecarError

# sockaddr_un holds 108 bytes, the closing NUL among them.
_MAX_SOCKET_PATH: Final = 107


class CannotListen(SidecarError):
    """An address that cannot be bound; the message says what to change."""


def bind_socket(server: grpc.aio.Server, path: str, mode: int, group: str) -> None:
    """Listen on a Unix socket with those permissions.

    A socket that a killed process left is replaced; one that somebody answers on is left to them, and refused.
    """
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        raise CannotListen(f"listen.socket: {path} is longer than {_MAX_SOCKET_PATH} bytes; choose a shorter one")
    if not Path(path).parent.is_dir():
        raise CannotListen(f"listen.socket: the directory of {path} does not exist")
    if _is_answered(path):
        raise CannotListen(
            f"listen.socket: {path} is in use by another process; stop it, or set listen.socket to another path"
        )
    _remove_stale(path)
    # The umask closes the moment between bind and chmod, in which the socket would have the usual permissions.
    before = os.umask(0o777 & ~mode)
    try:
        server.add_insecure_port(f"unix:{path}")
    except RuntimeError as error:
        raise CannotListen(f"listen.socket: cannot bind {path}; is its directory writable?") from error
    finally:
        os.umask(before)
    try:
        if group:
            os.chown(path, -1, _group_id(group))
        Path(path).chmod(mode)
    except OSError as error:
        raise CannotListen(
            f"listen.socket_group: cannot give {path} to the group {group or 'of the process'}"
        ) from error


def bind_tcp(server: grpc.aio.Server, host: str, port: int, setting: str) -> int:
    """Listen on a TCP port; 0 takes a free one. The port that was bound. `setting` is what an operator changes."""
    bound_socket(host, port, setting).close()
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        bound: int = server.add_insecure_port(address)
    except RuntimeError as error:
        raise CannotListen(f"{setting}: cannot listen on {address}") from error
    if bound == 0:
        raise CannotListen(f"{setting}: cannot listen on {address}")
    return bound


def bound_socket(host: str, port: int, setting: str) -> socket.socket:
    """A TCP socket that listens there; 0 takes a free port. `setting` is what an operator changes. Raises CannotListen
    with what is wrong, which gRPC says in lines of its own on stderr and does not tell its caller."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise CannotListen(f"{host} ({setting.replace('port', 'host')}) is not an address of this machine") from error
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen()
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRNOTAVAIL:
            problem = f"{host} ({setting.replace('port', 'host')}) is not an address of this machine"
        elif error.errno == errno.EADDRINUSE:
            problem = f"port {port} on {host} is in use by another process; stop it, or set {setting} to another"
        else:
            problem = f"cannot listen on port {port} of {host}: {error.strerror}; set {setting} to another"
        raise CannotListen(problem) from error
    return bound


def _is_answered(path: str) -> bool:
    """Whether a process accepts connections there. gRPC would take the socket over without a word."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _remove_stale(path: str) -> None:
    try:
        kind = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise CannotListen(f"listen.socket: {path} exists and is not a socket; remove it, or choose another path")
    Path(path).unlink(missing_ok=True)


def _group_id(group: str) -> int:
    if group.isdecimal():
        return int(group)
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError as error:
        raise CannotListen(f"listen.socket_group: there is no group {group}") from error
