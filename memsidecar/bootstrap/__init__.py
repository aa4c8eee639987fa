"""Builds stores, then services, then the server: the only package that knows them all."""

from memsidecar.bootstrap.process import run, verify

__all__ = ["run", "verify"]
