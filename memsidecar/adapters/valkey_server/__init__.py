"""A private server for sessions, run as a child process when no other one is configured."""

from memsidecar.adapters.valkey_server.copying import copy_sessions
from memsidecar.adapters.valkey_server.supervisor import ValkeyServer

__all__ = ["ValkeyServer", "copy_sessions"]
