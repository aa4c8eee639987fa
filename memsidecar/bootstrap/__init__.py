"""Builds stores, then services, then the server: the only package that knows them all."""

from memsidecar.bootstrap.backing_up import back_up
from memsidecar.bootstrap.process import run, verify
from memsidecar.bootstrap.restoring import restore

__all__ = ["back_up", "restore", "run", "verify"]
